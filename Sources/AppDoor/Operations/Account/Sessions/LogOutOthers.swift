import Accounts
import Dialogs
import HTTPPort

/// Ends everything but this login: other logins, the tokens of XMPP clients, the sessions of both. App passwords
/// remain.
enum LogOutOthers: ServedOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "session.deleteOthers"
  static let method = Method.delete
  static let path = "/v1/sessions"
  static let rate = OperationRate.endsOfLogins

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await call.accounts.logOutOthers(try call.user())
    return .done
  }
}
