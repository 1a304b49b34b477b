import Accounts
import Dialogs
import HTTPPort

/// Ends one of the caller's logins: its tokens, and its WebSocket if it has one.
enum LogOut: ServedOperation {
  typealias Input = SessionInput
  typealias Output = EmptyBody
  static let name = "session.delete"
  static let method = Method.delete
  static let path = "/v1/sessions/{sessionId}"
  static let rate = OperationRate.endsOfLogins

  static func perform(_ input: SessionInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    if input.sessionId == "current" {
      try await call.accounts.logOut(grant: caller.grant, of: caller.user.id)
      return .done
    }
    let grants = try await call.accounts.grants(of: caller.user.id)
    guard let grant = grants.first(where: { $0.device == input.sessionId }) else {
      throw Problem(.missing, "session-unknown", "There is no such session.", field: "sessionId")
    }
    try await call.accounts.logOut(grant: grant.id, of: caller.user.id)
    return .done
  }
}
