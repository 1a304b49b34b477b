package import Dialogs
import HTTPPort
import Peers

/// Closes the streams with a domain elsewhere. What waits for it stays.
package enum CloseFederation: AdminOperation {
  package static let name = "federation.close"
  package static let routes = [AdminRoute(.delete, "/federation/{domain}/streams", .federationWrite)]
  package static let needsServer = true

  package typealias Input = FederationInput
  /// The number of streams.
  package typealias Output = CountRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> CountRow {
    let (federation, domain) = (try context.runningFederation(), try input.elsewhere())
    return CountRow(count: await federation.close(domain))
  }
}
