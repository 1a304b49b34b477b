import Accounts
import Basics
package import Dialogs

/// Creates an app key, for a program of the backend or for an operator's shell elsewhere. A key with the scope `keys` can
/// create others, with no scope that it lacks.
package enum AddKey: AdminOperation {
  package static let name = "keys.add"
  package static let scope: AppKey.Scope? = .keys

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let name: String
    let scopes: [String]
    package init(domain: String?, name: String, scopes: [String]) {
      self.domain = domain
      self.name = name
      self.scopes = scopes
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let key: KeyRow
    /// The secret, which is returned only once.
    package let secret: String
  }

  package static func object(of input: Input) -> String {
    "\(input.name): \(input.scopes.joined(separator: ","))"
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    var scopes: Set<AppKey.Scope> = []
    for text in input.scopes {
      if text == "*" {
        // A backend's key creates no others unless that was asked for.
        scopes.formUnion(AppKey.Scope.allCases.filter { $0 != .keys })
      } else if let scope = AppKey.Scope(rawValue: text) {
        scopes.insert(scope)
      } else {
        let all = AppKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
        throw Problem(
          .malformed, "scope-unknown", "There is no scope \(Line.safe(text)). Scopes are \(all); * is all but keys.",
          field: "scopes")
      }
    }
    if let held = context.scopes, let beyond = scopes.subtracting(held).map(\.rawValue).min() {
      throw Problem(
        .forbidden, "scope-beyond-key", "This key cannot give the scope \(beyond), which it lacks.", field: "scopes")
    }
    let (key, secret) = try await context.accounts.makeAppKey(name: input.name, scopes: scopes, in: realm.id)
    return Output(key: KeyRow(key), secret: secret)
  }
}

/// An app key in the operators' view.
package struct KeyRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let name: String
  /// The first characters of the secret.
  package let prefix: String
  package let scopes: [String]
  package let createdAt: String
  package let usedAt: String?

  init(_ key: AppKey) {
    id = key.id
    name = key.name
    prefix = key.prefix
    scopes = key.scopes.map(\.rawValue).sorted()
    createdAt = key.createdAt.description
    usedAt = key.usedAt.map(\.description)
  }
}
