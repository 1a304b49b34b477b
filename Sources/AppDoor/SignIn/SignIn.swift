import Accounts
import Dialogs

/// One way to sign in: a value of `grant` in `POST /v1/sessions`. One file each in this folder, one line each in
/// `SignIns.all`. Whoever comes by any of them is the same user, with one address.
protocol SignIn: Sendable {
  static var grant: String { get }
  /// Whether it is there for users of this realm.
  static func isOffered(_ call: RequestContext) -> Bool
  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login
}

/// THE list.
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

  /// What a way to sign in cannot do without.
  static func required<Value>(_ value: Value?, _ field: String) throws(Problem) -> Value {
    guard let value else { throw Problem(.malformed, "input-malformed", "\(field) is missing.", field: field) }
    return value
  }

  /// What the client calls itself.
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
