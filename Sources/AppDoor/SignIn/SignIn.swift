import Accounts
import Dialogs

/// A way to sign in: a value of `grant` in `POST /v1/sessions`. Each has a file in this folder, and a line in
/// `SignIns.all`. All of them lead to the same user, with one address.
protocol SignIn: Sendable {
  static var grant: String { get }
  /// Returns whether users of this realm may use it.
  static func isOffered(_ call: RequestContext) -> Bool
  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login
}

/// The complete list of ways to sign in.
enum SignIns {
  static let all: [any SignIn.Type] = [
    PasswordSignIn.self,
    RefreshSignIn.self,
    CodeSignIn.self,
    SecondFactorSignIn.self,
    BackendSignIn.self,
    ProviderSignIn.self,
    GuestSignIn.self,
  ]

  static func named(_ grant: String) throws(Problem) -> any SignIn.Type {
    guard let found = all.first(where: { $0.grant == grant }) else {
      let grants = all.map { "\"\($0.grant)\"" }.joined(separator: ", ")
      throw Problem(.malformed, "grant-unknown", "grant is one of \(grants).", field: "grant")
    }
    return found
  }
}

extension SignIn {
  static func isOffered(_ call: RequestContext) -> Bool { true }

  /// Returns a required value.
  static func required<Value>(_ value: Value?, _ field: String) throws(Problem) -> Value {
    guard let value else { throw Problem(.malformed, "input-malformed", "\(field) is missing.", field: field) }
    return value
  }

  /// Returns the client's name.
  static func client(_ input: LogInInput) throws(Problem) -> String? {
    guard let client = input.client else { return nil }
    try Checks.text(client, field: "client")
    guard client.utf8.count <= AppLimits.clientNameBytesMax else {
      throw Problem(
        .tooLarge, "client-too-long", "client has at most \(AppLimits.clientNameBytesMax) bytes.", field: "client")
    }
    return client
  }
}
