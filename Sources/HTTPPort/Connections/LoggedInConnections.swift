public import Dialogs
public import Logging
package import NIOCore
public import ServerMetrics
import Synchronization

/// The connections of logged-in users at all ports of clients, which are bounded by network, across threads: they give way to nobody,
/// so that without a bound the accounts of one network could hold all connections of the server. At the bound the newest connection of
/// the network is refused (`refuse`), or it keeps the place of a connection without a login, which gives way.
public final class LoggedInConnections: Sendable {
  private let perNetworkMax: Int
  private let networks: ClientNetworks
  private let metrics: Metrics
  private let refusals: RefusalLog
  private let counts = Mutex<[String: Int]>([:])

  /// - Parameters:
  ///   - perNetworkMax: The number of those of one network.
  ///   - networks: The networks that have a bound.
  public init(perNetworkMax: Int, networks: ClientNetworks, metrics: Metrics, logger: Logger) {
    self.perNetworkMax = perNetworkMax
    self.networks = networks
    self.metrics = metrics
    refusals = RefusalLog(logger)
  }

  /// The problem of a client whose network has as many connections as it may have.
  package static let problem = Problem(
    .tooFast, "connections-too-many", "Your network has as many connections as one may have. Try again later.",
    retryAfter: 60)

  /// Counts one more of a network. Returns `false` if the network has as many as it may have; then nothing is counted.
  ///
  /// - Parameter client: The address of an IPv4 client, or the first half of one of IPv6.
  package func enter(_ client: String) -> Bool {
    guard let network = networks.name(of: client) else { return true }
    return counts.withLock { counts in
      let count = counts[network] ?? 0
      if count >= perNetworkMax { return false }
      counts[network] = count + 1
      return true
    }
  }

  /// Counts one less of a network.
  package func leave(_ client: String) {
    guard let network = networks.name(of: client) else { return }
    counts.withLock { counts in
      let count = (counts[network] ?? 0) - 1
      counts[network] = count > 0 ? count : nil
    }
  }

  /// Counts a connection until it is closed. Returns `false`, and notes the refusal, if its network has as many as it may have.
  package func admit(_ channel: any Channel, of client: String) -> Bool {
    guard enter(client) else {
      refuse(client)
      return false
    }
    channel.closeFuture.whenComplete { _ in self.leave(client) }
    return true
  }

  /// Notes that a connection is refused.
  package func refuse(_ client: String) {
    metrics.refusals.add(.networkConnections)
    refusals.note("a connection", Self.problem.code, isFault: false, ["network": client])
  }
}
