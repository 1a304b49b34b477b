import Accounts
import Basics
package import Dialogs
import HTTPPort

/// Lists administrative acts and calls with app keys, newest first. A key sees those of its domain's keys alone.
package enum ListAudit: AdminOperation {
  package static let name = "audit.list"
  package static let routes = [AdminRoute(.get, "/audit", .audit, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// The domain whose keys' calls are listed; nil for all acts that the caller may see.
    let domain: String?
    /// The name of the key, or the beginning of its secret; nil for all.
    let key: String?
    /// A text that the actor, the operation, the object or the origin contains; nil for all.
    let matching: String?
    /// The previous page's `nextCursor`.
    let cursor: Int64?
    let limit: Int
    package init(
      domain: String?, key: String? = nil, matching: String? = nil, cursor: Int64? = nil, limit: Int
    ) {
      self.domain = domain
      self.key = key
      self.matching = matching
      self.cursor = cursor
      self.limit = limit
    }
  }

  package struct Row: Codable, Hashable, Sendable {
    package let id: Int64
    package let time: String
    /// `socket`, `folder`, `http`, `xmpp` or `signal`.
    package let surface: String
    /// The key's name, an address in XMPP, `uid 1000`, or `system`.
    package let actor: String
    /// The beginning of the key's secret; nil for other surfaces.
    package let keyPrefix: String?
    /// The network address of a key's caller, the resource of an XMPP client, the process of a command, or
    /// the signal.
    package let origin: String
    package let operation: String
    package let object: String
    package let status: Int
    /// The code of a refusal; nil for success.
    package let code: String?

    init(_ record: AuditRecord) {
      id = record.id
      time = record.time.description
      surface = record.actor.surface.rawValue
      actor = record.actor.name
      keyPrefix = record.actor.keyPrefix.isEmpty ? nil : record.actor.keyPrefix
      origin = record.actor.origin
      operation = record.operation
      object = record.object
      status = record.status
      code = record.code.isEmpty ? nil : record.code
    }
  }

  package typealias Output = AdminPage<Row, Int64>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = input.domain == nil ? context.realm : try context.realm(input.domain)
    let limit = Output.limit(input.limit)
    var found: [AuditRecord] = []
    var cursor = input.cursor ?? .max
    while found.count < limit {
      let page = try await context.accounts.audit(in: realm?.id, before: cursor, limit: AdminLimits.auditRowsRead)
      found += page.filter { input.selects($0) }
      guard page.count == AdminLimits.auditRowsRead, let last = page.last else { break }
      cursor = last.id
    }
    return Output(Array(found.prefix(limit)), limit: limit, cursor: \.id) { Row($0) }
  }
}

extension ListAudit.Input {
  fileprivate func selects(_ record: AuditRecord) -> Bool {
    let actor = record.actor
    if let key, actor.surface != .http || actor.name != key && (key.count < 8 || !actor.keyPrefix.hasPrefix(key)) {
      return false
    }
    guard let matching else { return true }
    return [actor.name, actor.origin, record.operation, record.object].contains {
      $0.lowercased().contains(matching.lowercased())
    }
  }
}
