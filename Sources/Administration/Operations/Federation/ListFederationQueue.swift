import Addresses
package import Basics
package import Dialogs
import HTTPPort

/// Lists a page of what waits for a domain elsewhere, in the order in which it will be sent.
package enum ListFederationQueue: AdminOperation {
  package static let name = "federation.queue"
  package static let routes = [
    AdminRoute(.get, "/federation/{domain}/queue", .federationRead, defaults: ["limit": "50"])
  ]

  package struct Input: Codable, Sendable {
    let domain: String
    /// The `nextCursor` of the previous page.
    let cursor: String?
    let limit: Int
    package init(domain: String, after cursor: String?, limit: Int) {
      self.domain = domain
      self.cursor = cursor
      self.limit = limit
    }
  }

  /// The last row of a page: as text, the domain here and the position with a blank between.
  private struct Cursor {
    let local: String
    let position: Int64

    init(_ row: Row) { (local, position) = (row.local, row.position) }

    init(_ text: String) throws(Problem) {
      let parts = text.split(separator: " ")
      guard parts.count == 2, let position = Int64(parts[1]) else {
        throw Problem(.malformed, "cursor-malformed", "The cursor must be the nextCursor of a page.", field: "cursor")
      }
      (local, self.position) = (String(parts[0]), position)
    }

    var text: String { "\(local) \(position)" }
  }

  package struct Row: Codable, Hashable, Sendable {
    package let local: String
    package let position: Int64
    package let from: String
    /// `message`, or the name of a stanza that is no message.
    package let kind: String
    /// The time at which it is returned to its author.
    package let expiresAt: Timestamp
  }

  package typealias Output = AdminPage<Row, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let domain = try FederationInput(domain: input.domain).elsewhere()
    let limit = Output.limit(input.limit)
    var cursor: Cursor?
    if let text = input.cursor { cursor = try Cursor(text) }
    let rows = try await context.parley.read { [cursor] reader in
      var rows: [Row] = []
      for pair in try reader.outboxPairs().map(\.pair) where pair.remote == domain && rows.count < limit {
        guard pair.local >= cursor?.local ?? "" else { continue }
        let after = Position(pair.local == cursor?.local ? cursor?.position ?? 0 : 0)
        rows += try reader.outbox(of: pair, after: after, limit: limit - rows.count).map { row in
          Row(
            local: pair.local, position: row.position.number, from: row.item.sender.description, kind: row.kind,
            expiresAt: row.expiresAt)
        }
      }
      return rows
    }
    return Output(rows, limit: limit, cursor: { Cursor($0).text }) { $0 }
  }
}

extension OutboxRow {
  fileprivate var kind: String {
    guard case .stanza(let stanza) = item else { return "message" }
    return switch stanza.name {
    case .message: "message"
    case .iq(let type): "iq \(type)"
    case .presence(let type): type.isEmpty ? "presence" : type
    }
  }
}
