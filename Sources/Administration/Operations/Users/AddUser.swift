import Accounts
import Addresses
package import Dialogs
import HTTPPort

/// Creates an account.
package enum AddUser: AdminOperation {
  package static let name = "users.add"
  package static let routes = [AdminRoute(.post, "/users", .usersWrite, status: 201)]

  package struct Input: Codable, Sendable {
    /// nil for a generated name in the key's realm or the first one.
    let jid: String?
    /// nil for an account without a password, whose user another system authenticates.
    let password: String?
    let name: String?
    /// The backend's id for the user.
    let externalId: String?
    let email: String?
    package init(jid: String, password: String, name: String?) {
      self.jid = jid
      self.password = password
      self.name = name
      externalId = nil
      email = nil
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    var provision = Accounts.Provision(password: input.password, displayName: input.name)
    var realm = try context.realm(nil)
    if let jid = input.jid {
      let address = try context.account(jid)
      guard let found = context.parley.realm(domain: address.domain) else {
        throw Problem(.foreign, "domain-not-served", "\(address.domain) is not served here.", field: "jid")
      }
      (realm, provision.name) = (found, address.local)
    } else if input.externalId == nil, input.email == nil {
      throw Problem(.malformed, "user-nameless", "A user must have a jid, an externalId or an email.", field: "jid")
    }
    if let id = try AdminContext.externalID(input.externalId) { provision.identities.append(Identity(.external, id)) }
    if let email = try AdminContext.email(input.email) { provision.identities.append(Identity(.email, email)) }
    let user = try await context.accounts.provision(provision, in: realm, byOperator: context.isOperator)
    return UserRow(user, in: context)
  }
}

extension AdminContext {
  /// Validates a user's id in another system; an empty text means none.
  static func externalID(_ text: String?) throws(Problem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    guard text.utf8.count <= Limits.externalIDBytesMax, !text.utf8.contains(where: { $0 < 0x20 }) else {
      throw Problem(
        .malformed, "external-id-malformed", "externalId must have at most \(Limits.externalIDBytesMax) bytes.",
        field: "externalId")
    }
    return text
  }

  /// Validates an email address and lowercases it, the form in which addresses are compared; an empty text means none.
  static func email(_ text: String?) throws(Problem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= Limits.externalIDBytesMax,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
    else { throw Problem(.malformed, "email-malformed", "This is not a mail address.", field: "email") }
    return text.lowercased()
  }
}
