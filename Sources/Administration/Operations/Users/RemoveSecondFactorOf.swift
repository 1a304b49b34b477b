import Accounts
package import Dialogs

/// Removes the second factor of a user who has lost the telephone and the recovery codes.
package enum RemoveSecondFactorOf: AdminOperation {
  package static let name = "users.secondFactor.remove"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    let jid: String
    package init(jid: String) { self.jid = jid }
  }

  package struct Output: Codable, Sendable {
    package let user: UserRow
    /// False if there was none.
    package let removed: Bool
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    try context.requireReach(over: user.party)
    let removed = try await context.accounts.removeSecondFactor(of: user.id)
    return Output(user: UserRow(user, in: context), removed: removed)
  }
}
