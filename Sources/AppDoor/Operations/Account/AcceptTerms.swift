import Accounts
import Dialogs
import HTTPPort

/// Records that the caller has accepted the app's terms.
enum AcceptTerms: ServedOperation {
  typealias Input = TermsInput
  typealias Output = MeBody
  static let name = "me.terms"
  static let method = Method.put
  static let path = "/v1/users/me/terms"

  static func perform(_ input: TermsInput, _ call: RequestContext) async throws(Problem) -> Outcome<MeBody> {
    try Checks.text(input.version, field: "version")
    try await call.accounts.accept(terms: input.version, by: try call.user().user)
    return .ok(try await call.me())
  }
}
