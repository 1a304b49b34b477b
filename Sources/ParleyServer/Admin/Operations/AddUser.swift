package import Dialogs

/// Makes an account.
package enum AddUser: AdminOperation {
  package static let name = "users.add"

  package struct Input: Codable, Sendable {
    let jid: String
    let password: String
    let name: String?
    package init(jid: String, password: String, name: String?) {
      self.jid = jid
      self.password = password
      self.name = name
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    let user = try await context.parley.register(
      AdminContext.account(input.jid), password: input.password, displayName: input.name)
    return UserRow(user, in: context)
  }
}
