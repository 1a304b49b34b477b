import Accounts
package import Dialogs

/// Makes a user an administrator of their domain, or a user like the others again. It holds for the next request.
package enum SetRole: AdminOperation {
  package static let name = "users.role"
  /// As for keys: who gives others access.
  package static let scope: AppKey.Scope? = .keys

  package enum Role: String, Codable, Sendable, CaseIterable { case admin, user }

  package struct Input: Codable, Sendable {
    let jid: String
    let role: Role
    package init(jid: String, role: Role) {
      self.jid = jid
      self.role = role
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    try context.requireReachOfAdministrators()
    let user = try await context.user(input.jid)
    _ = try await context.accounts.setAdministrator(
      input.role == .admin, user, byOperator: context.isOperator)
    return UserRow(user, in: context)
  }
}
