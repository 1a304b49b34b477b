package import Dialogs
import HTTPPort
import Peers

/// Ends the pause after failed attempts to reach a domain elsewhere: its links try at once.
package enum RetryFederation: AdminOperation {
  package static let name = "federation.retry"
  package static let routes = [AdminRoute(.post, "/federation/{domain}/attempts", .federationWrite)]
  package static let needsServer = true

  package typealias Input = FederationInput
  /// The number of links.
  package typealias Output = CountRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> CountRow {
    let (federation, domain) = (try context.runningFederation(), try input.elsewhere())
    return CountRow(count: await federation.retry(domain))
  }
}
