import AppProtocol
import Dialogs

/// Goes on with a refresh token, which is used up by it.
enum RefreshSignIn: SignIn {
  static let grant = "refresh"

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Parley.Login {
    let token = try required(input.refreshToken, "refreshToken")
    do throws(Problem) {
      let login = try await call.parley.refresh(token)
      call.parley.rightToken(LoginAttempt(of: login.user.address, from: call.address, device: nil))
      return login
    } catch {
      throw error.kind == .unauthenticated ? call.parley.wrongToken(error, from: call.address) : error
    }
  }
}
