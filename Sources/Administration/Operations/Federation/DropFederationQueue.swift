package import Dialogs
import HTTPPort

/// Returns what waits for a domain elsewhere to its authors, who are told that it was not delivered.
package enum DropFederationQueue: AdminOperation {
  package static let name = "federation.drop"
  package static let routes = [AdminRoute(.delete, "/federation/{domain}/queue", .federationWrite)]

  package typealias Input = FederationInput
  /// The number of rows.
  package typealias Output = CountRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> CountRow {
    let domain = try input.elsewhere()
    let failure = FederationFailure(
      .cancel, "remote-server-timeout", "The operator of this server has given up the delivery to \(domain).")
    var count = 0
    for pair in try await context.parley.read({ try $0.outboxPairs() }) where pair.pair.remote == domain {
      // What is accepted after this moment is kept.
      let head = try await context.parley.read { try $0.head().position }
      try await context.parley.post(
        .outbox(.bounce(pair.pair, positions: Position(1)...head, failure)), by: Parley.nobody)
      count += pair.rows
    }
    return CountRow(count: count)
  }
}
