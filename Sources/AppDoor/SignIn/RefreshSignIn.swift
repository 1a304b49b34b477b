import Accounts
import Dialogs

/// Continues a login with a refresh token, which is used up.
enum RefreshSignIn: SignIn {
  static let grant = "refresh"

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    let token = try required(input.refreshToken, "refreshToken")
    do throws(Problem) {
      let login = try await call.accounts.refresh(token)
      call.accounts.rightToken(LoginAttempt(of: login.user.address, from: call.address, device: nil))
      return login
    } catch {
      throw error.kind == .unauthenticated ? call.accounts.wrongToken(error, from: call.address) : error
    }
  }
}
