package import Dialogs
package import HTTPPort

/// The HTTP route of an operation, for backends.
package struct AdminRoute: Sendable {
  package let method: Method
  /// The path behind `/v1/admin`; braces name members of the operation's input, as in `/users/{jid}`.
  let rest: String
  /// nil for an operation that no key performs: every call is refused.
  package let scope: AppKey.Scope?
  /// The status of success; 204 for an empty output.
  package let status: Int
  /// The input members that apply if the request has none of that name.
  let defaults: [String: String]
  /// The input members that apply whatever the request has.
  let fixed: [String: String]
  /// The maximum length of a request's body, in bytes.
  let bytesMax: Int

  init(
    _ method: Method, _ rest: String, _ scope: AppKey.Scope?, status: Int = 200, defaults: [String: String] = [:],
    fixed: [String: String] = [:], bytesMax: Int = AdminLimits.bodyBytesMax
  ) {
    self.method = method
    self.rest = rest
    self.scope = scope
    self.status = status
    self.defaults = defaults
    self.fixed = fixed
    self.bytesMax = bytesMax
  }

  package var path: String { "/v1/admin" + rest }

  /// The route of all operations by their names, as commands elsewhere call them.
  static let named = AdminRoute(.post, "/operations/{operation}", nil)

  /// The same of one operation. Its input is the body alone.
  static func named(_ operation: any AdminOperation.Type) -> AdminRoute {
    AdminRoute(.post, "/operations/" + operation.name, operation.scope, bytesMax: AdminLimits.operationBytesMax)
  }

  var pathParameters: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
  }
}

/// A page of a list.
package struct AdminPage<Item: Codable & Hashable & Sendable, Cursor: Codable & Hashable & Sendable>:
  Codable, Hashable, Sendable
{
  package let items: [Item]
  /// The `cursor` of the next page; nil on the last page.
  package let nextCursor: Cursor?

  /// Creates the only page of a list, or one whose next page is known.
  init(items: [Item], nextCursor: Cursor? = nil) {
    self.items = items
    self.nextCursor = nextCursor
  }

  /// Creates a page of what was read with a limit; another page may follow a full one.
  init<Read>(_ read: [Read], limit: Int, cursor: (Read) -> Cursor?, item: (Read) -> Item?) {
    items = read.compactMap(item)
    nextCursor = read.count == limit ? read.last.flatMap(cursor) : nil
  }

  /// Returns the limit of a page for a requested one.
  static func limit(_ requested: Int, max: Int = AdminLimits.importBatchRows) -> Int {
    min(Swift.max(1, requested), max)
  }
}
