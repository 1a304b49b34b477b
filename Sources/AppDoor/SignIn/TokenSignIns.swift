import Accounts
import Dialogs

/// Signs in with a token of the app's own backend, which contains a nonce of this server.
enum BackendSignIn: SignIn {
  static let grant = "jwt"

  static func isOffered(_ call: RequestContext) -> Bool {
    call.accounts.options.signIn.verifier?.hasBackend(call.realm.domain) ?? false
  }

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    try await logIn(try .backend(required(input.identityToken, "identityToken")), input, call)
  }
}

/// Signs in with a `ProviderToken`.
enum ProviderSignIn: SignIn {
  static let grant = "provider"

  static func isOffered(_ call: RequestContext) -> Bool {
    call.accounts.options.signIn.verifier?.providers(of: call.realm.domain).isEmpty == false
  }

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    let given = ProviderToken(
      idToken: input.idToken, code: input.code, verifier: input.codeVerifier, redirectURI: input.redirectUri)
    return try await logIn(try given.token(of: required(input.provider, "provider")), input, call)
  }
}

/// Signs in as a guest.
enum GuestSignIn: SignIn {
  static let grant = "guest"

  static func isOffered(_ call: RequestContext) -> Bool { call.accounts.takesGuests(domain: call.realm.domain) }

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    try await call.accounts.logInAsGuest(
      in: call.realm.domain, from: call.address, device: input.deviceId, client: try client(input))
  }
}

extension SignIn {
  /// Logs in by a token. Tokens cannot be guessed: the bound is for the lookups.
  fileprivate static func logIn(
    _ token: IdentityToken, _ input: LogInInput, _ call: RequestContext
  ) async throws(Problem) -> Accounts.Login {
    let client = try client(input)
    do throws(Problem) {
      let login = try await call.accounts.logIn(by: token, in: call.realm.id, device: input.deviceId, client: client)
      call.accounts.rightToken(LoginAttempt(of: login.user.address, from: call.address, device: nil))
      return login
    } catch {
      throw error.kind == .unauthenticated ? call.accounts.wrongToken(error, from: call.address) : error
    }
  }
}
