public import Basics
import Dialogs
public import Logging
public import ServerMetrics

/// The memory of incomplete requests and messages at the HTTP ports.
public struct HTTPMemory: Sendable {
  /// The memory of requests and WebSockets without a login.
  let withoutLogin: MemoryBound
  /// The memory of the requests of logged-in users.
  let loggedIn: MemoryBound
  /// The memory of incomplete messages and other unfinished input of logged-in users.
  let unfinished: MemoryBound

  /// The bound of connections without a login, independent of memory.
  package static let connectionsMost = HTTPLimits.unauthenticatedMax

  public init(withoutLogin: MemoryBound, loggedIn: MemoryBound, unfinished: MemoryBound) {
    self.withoutLogin = withoutLogin
    self.loggedIn = loggedIn
    self.unfinished = unfinished
  }
}

/// The bounds that the HTTP ports of clients share.
public struct HTTPBounds: Sendable {
  /// The connections without a login.
  let connections: ConnectionBound
  /// The connections of logged-in users; nil where they have no bound.
  let loggedIn: LoggedInConnections?
  /// The open connections of all ports, those of XMPP included.
  let all: OpenConnections
  /// The pace of new connections; nil for none.
  let pace: PacedConnections?
  /// The pace of requests; nil for none.
  let requests: PacedConnections?
  /// The downloads; nil without a bound of their number.
  let downloads: Downloads?
  /// The memory of bodies and messages; nil without a bound.
  let memory: HTTPMemory?

  /// Creates unlimited bounds, for a port where few connections may be open.
  public init() {
    connections = ConnectionBound(max: .max)
    loggedIn = nil
    all = OpenConnections()
    pace = nil
    requests = nil
    downloads = nil
    memory = nil
  }

  /// - Parameters:
  ///   - withoutLogin: The number of connections without a login, of which there are at most
  ///     `HTTPLimits.unauthenticatedMax`.
  ///   - isByNetwork: Whether the network with the most of them gives way; otherwise the oldest of all does.
  ///   - loggedIn: The connections of logged-in users at all ports.
  ///   - all: The open connections of all ports. When they are at their bound, a newcomer needs the place of a connection
  ///     without a login.
  ///   - pace: The pace of new connections.
  ///   - requests: The pace of requests.
  ///   - downloads: The downloads.
  ///   - memory: The memory of bodies and messages.
  public init(
    withoutLogin: Int, isByNetwork: Bool, loggedIn: LoggedInConnections, all: OpenConnections, pace: PacedConnections,
    requests: PacedConnections, downloads: Downloads, memory: HTTPMemory, metrics: Metrics, logger: Logger
  ) {
    let refusals = RefusalLog(logger)
    connections = ConnectionBound(
      max: min(withoutLogin, HTTPLimits.unauthenticatedMax), isByNetwork: isByNetwork
    ) { network in
      metrics.refusals.add(.connections)
      refusals.note("a connection", "http-connections-without-login", isFault: false, ["network": network])
    }
    self.loggedIn = loggedIn
    self.all = all
    self.pace = pace
    self.requests = requests
    self.downloads = downloads
    self.memory = memory
  }
}
