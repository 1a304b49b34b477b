import Accounts
import Addresses
package import Dialogs

/// Deletes an account and, on request, all its messages.
package enum DeleteUser: AdminOperation {
  package static let name = "users.delete"
  package static let scope: AppKey.Scope? = .usersWrite
  /// A bound of a day: messages of years are retracted one by one.
  package static let answerWait: Duration = .seconds(86_400)

  package struct Input: Codable, Sendable {
    let jid: String
    let erase: Bool
    package init(jid: String, erase: Bool) {
      self.jid = jid
      self.erase = erase
    }
  }

  package struct Output: Codable, Sendable {
    package let jid: String
    package let erased: Bool
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    let task = try await context.accounts.beginDeletion(of: user.id, erasing: input.erase)
    try await context.accounts.finish(task)
    return Output(jid: user.address.description, erased: input.erase)
  }
}
