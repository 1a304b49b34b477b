import Accounts
import Basics
package import Dialogs
import HTTPPort

/// Lists the calls made with app keys, newest first.
package enum ListAudit: AdminOperation {
  package static let name = "audit.list"
  package static let routes = [AdminRoute(.get, "/audit", .audit, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    /// The previous page's `nextCursor`.
    let cursor: Int64?
    let limit: Int
    package init(domain: String?, cursor: Int64? = nil, limit: Int) {
      self.domain = domain
      self.cursor = cursor
      self.limit = limit
    }
  }

  package struct Row: Codable, Hashable, Sendable {
    package let id: Int64
    package let time: String
    package let key: String
    package let operation: String
    package let path: String
    package let status: Int
  }

  package typealias Output = AdminPage<Row, Int64>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    let limit = Output.limit(input.limit)
    let records = try await context.accounts.audit(in: realm.id, before: input.cursor ?? .max, limit: limit)
    return Output(records, limit: limit, cursor: \.id) {
      Row(
        id: $0.id, time: $0.time.description, key: $0.keyName, operation: $0.operation, path: $0.target,
        status: $0.status)
    }
  }
}
