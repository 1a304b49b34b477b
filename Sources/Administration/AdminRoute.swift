package import AppProtocol
package import Dialogs

/// Where backends find an operation over HTTP.
package struct AdminRoute: Sendable {
  package let method: Method
  /// Behind `/v1/admin`; braces name members of the operation's input, as in `/users/{jid}`.
  let rest: String
  package let scope: AppKey.Scope
  /// Of success; 204 where there is nothing to say.
  package let status: Int
  /// Members of the input where the request has none.
  let defaults: [String: String]
  /// Members of the input whatever the request has.
  let fixed: [String: String]

  init(
    _ method: Method, _ rest: String, _ scope: AppKey.Scope, status: Int = 200, defaults: [String: String] = [:],
    fixed: [String: String] = [:]
  ) {
    self.method = method
    self.rest = rest
    self.scope = scope
    self.status = status
    self.defaults = defaults
    self.fixed = fixed
  }

  package var path: String { "/v1/admin" + rest }

  var pathParameters: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
  }
}

/// A page of a list.
package struct AdminPage<Item: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
  package let items: [Item]
  /// What ends this page: give it back as `cursor`; nil: that was the last one.
  package let nextCursor: String?

  init(items: [Item], nextCursor: String? = nil) {
    self.items = items
    self.nextCursor = nextCursor
  }
}
