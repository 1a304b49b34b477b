import Addresses
import AppProtocol
import Dialogs

/// Logs in with a password, or goes on with a refresh token.
///
/// Failures are counted by the core (`LoginFailures`).
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
    let login = try await logIn(input, call)
    return .created(
      SessionBody(
        accessToken: login.accessToken, refreshToken: login.refreshToken,
        expiresAt: WireTime(login.grant.accessExpires), user: call.door.rendering(login.user).user(login.user),
        deviceId: login.grant.device))
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
      // The device's id is no secret (others see it in the resource): whoever names it is not known by it.
      let attempt = LoginAttempt(of: address, from: call.address, device: nil)
      return try await call.parley.logIn(
        attempt, password: password, device: input.deviceId, client: input.client)
    case "refresh":
      guard let token = input.refreshToken else { throw missing("refreshToken") }
      do throws(Problem) {
        let login = try await call.parley.refresh(token)
        call.parley.rightToken(LoginAttempt(of: login.user.address, from: call.address, device: nil))
        return login
      } catch {
        throw error.kind == .unauthenticated ? call.parley.wrongToken(error, from: call.address) : error
      }
    default:
      throw Problem(
        .malformed, "grant-unknown", "grant is \"password\" or \"refresh\".", field: "grant")
    }
  }

  private static func missing(_ field: String) -> Problem {
    Problem(.malformed, "input-malformed", "\(field) is missing.", field: field)
  }
}
