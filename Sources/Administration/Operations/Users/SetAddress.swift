import Accounts
package import Dialogs

/// Sets or removes a user's email address or telephone number, which counts as verified.
package enum SetAddress: AdminOperation {
  package static let name = "users.address"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    package enum Kind: String, Codable, Sendable { case email, phone }
    let jid: String
    let kind: Kind
    /// nil removes it.
    let address: String?
    package init(jid: String, kind: Kind, address: String?) {
      self.jid = jid
      self.kind = kind
      self.address = address
    }
  }

  package struct Output: Codable, Sendable {
    package let user: UserRow
    /// The normalised address; nil if there is none.
    package let address: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    try context.requireReach(over: user.party)
    guard let address = input.address else {
      try await context.accounts.unbind(input.kind == .email ? .email : .phone, from: user.party)
      return Output(user: UserRow(user, in: context), address: nil)
    }
    let identity = try input.kind == .email ? Identity.email(address) : .phone(address)
    try await context.accounts.bindUnproved(identity, to: user.party)
    return Output(user: UserRow(user, in: context), address: identity.subject)
  }
}
