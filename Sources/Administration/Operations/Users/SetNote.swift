import Accounts
package import Dialogs

/// Sets or removes the operators' note on a user, which the user sees in an export of their data alone.
package enum SetNote: AdminOperation {
  package static let name = "users.note"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    let jid: String
    /// The text; an empty one removes the note.
    let text: String
    package init(jid: String, text: String) {
      self.jid = jid
      self.text = text
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    let user = try await context.user(input.jid)
    try await context.accounts.setNote(input.text, on: user.party)
    return UserRow(user, in: context)
  }
}
