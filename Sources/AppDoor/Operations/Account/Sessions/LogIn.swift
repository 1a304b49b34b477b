import Accounts
import Dialogs
import HTTPPort
import ServerMetrics

/// Logs in, or renews the tokens of a login, by one of `SignIns`.
enum LogIn: ServedOperation {
  typealias Input = LogInInput
  typealias Output = SessionBody
  static let name = "session.create"
  static let method = Method.post
  static let path = "/v1/sessions"
  static let successes = [201]
  static let needsCaller = false

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Outcome<SessionBody> {
    let mechanism = LoginMechanism(grant: input.grant)
    let login: Accounts.Login
    do throws(Problem) {
      login = try await SignIns.named(input.grant).perform(input, call)
    } catch {
      // A first step that was right is followed by the second one, which counts.
      if error.challenge == nil { call.parley.metrics.logins.add(Both(mechanism, .failure)) }
      throw error
    }
    call.parley.metrics.logins.add(Both(mechanism, .success))
    let settings = try await call.parley.read { try $0.userSettings(of: login.user.id) }
    return .created(
      SessionBody(
        accessToken: login.accessToken, refreshToken: login.refreshToken,
        expiresAt: login.grant.accessExpires, user: call.door.rendering(login.user).user(login.user),
        deviceId: login.grant.device, termsRequired: settings.requiring(call.door.settings.terms)))
  }
}
