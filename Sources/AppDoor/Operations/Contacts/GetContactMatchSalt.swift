import Accounts
import Dialogs
import HTTPPort

/// Returns the salt for hashing the numbers and addresses of an address book.
enum GetContactMatchSalt: ServedOperation {
  typealias Input = NoInput
  typealias Output = ContactMatchSaltBody
  static let name = "contactMatch.salt"
  static let method = Method.get
  static let path = "/v1/contact-matches"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<ContactMatchSaltBody> {
    let salt = try await call.accounts.matchSalt(for: try call.user().user)
    return .ok(ContactMatchSaltBody(salt: salt, algorithm: "sha-256", hashesMax: AccountLimits.matchKeysMax))
  }
}
