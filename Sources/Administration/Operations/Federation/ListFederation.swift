package import Dialogs
import HTTPPort
package import Peers

/// Lists a page of the pairs of domains here and elsewhere, by the domain elsewhere: those with a link, and those for which
/// something waits.
package enum ListFederation: AdminOperation {
  package static let name = "federation.list"
  package static let routes = [AdminRoute(.get, "/federation", .federationRead, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// The `nextCursor` of the previous page.
    let cursor: String?
    let limit: Int
    package init(after cursor: String?, limit: Int) {
      self.cursor = cursor
      self.limit = limit
    }
  }

  package typealias Output = AdminPage<FederationLinkStatus, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let limit = Output.limit(input.limit)
    let rows = try await context.federationLinks().filter { key(of: $0) > input.cursor ?? "" }
    return Output(Array(rows.prefix(limit)), limit: limit, cursor: key) { $0 }
  }

  private static func key(of row: FederationLinkStatus) -> String { "\(row.remote) \(row.local)" }
}
