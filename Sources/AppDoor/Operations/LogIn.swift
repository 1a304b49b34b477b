import Addresses
import AppProtocol
import Dialogs

/// Logs in with a password, or goes on with a refresh token.
///
/// Failures are counted per client address and never per account: otherwise
/// anybody could lock anybody out.
enum LogIn: ServedOperation {
  typealias Input = LogInInput
  typealias Output = SessionBody
  static let name = "session.create"
  static let method = Method.post
  static let path = "/v1/sessions"
  static let successes = [201]
  static let needsCaller = false

  /// Bytes of what a client may call itself.
  private static let clientBytesMax = 256

  static func perform(_ input: LogInInput, _ call: Call) async throws(Problem) -> Outcome<SessionBody> {
    let failures = call.door.limiters.failures
    try failures.check(call.address, now: call.parley.clock.now)
    do throws(Problem) {
      let login = try await logIn(input, call)
      return .created(
        SessionBody(
          accessToken: login.accessToken, refreshToken: login.refreshToken,
          expiresAt: WireTime(login.grant.accessExpires), user: call.door.rendering(login.user).user(login.user),
          deviceId: login.grant.device))
    } catch {
      if error.kind == .unauthenticated { failures.charge(call.address, now: call.parley.clock.now) }
      throw error
    }
  }

  private static func logIn(_ input: LogInInput, _ call: Call) async throws(Problem) -> Parley.Login {
    switch input.grant {
    case "password":
      guard let username = input.username else { throw missing("username") }
      guard let password = input.password else { throw missing("password") }
      if let client = input.client {
        try Checks.text(client, field: "client")
        guard client.utf8.count <= clientBytesMax else {
          throw Problem(.tooLarge, "client-too-long", "client has at most \(clientBytesMax) bytes.", field: "client")
        }
      }
      // A name that cannot be is a wrong one: nothing is told about names.
      guard let address = try? Checks.address(username, domain: call.realm.domain, field: "username") else {
        throw Problem(.unauthenticated, "wrong-credentials", "The user name or the password is wrong.")
      }
      let user = try await call.parley.verify(address, password: password)
      return try await call.parley.logIn(user, device: input.deviceId, client: input.client)
    case "refresh":
      guard let token = input.refreshToken else { throw missing("refreshToken") }
      return try await call.parley.refresh(token)
    default:
      throw Problem(
        .malformed, "grant-unknown", "grant is \"password\" or \"refresh\".", field: "grant")
    }
  }

  private static func missing(_ field: String) -> Problem {
    Problem(.malformed, "input-malformed", "\(field) is missing.", field: field)
  }
}
