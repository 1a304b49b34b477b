import Synchronization

/// The connections without a login at one kind of port, which are bounded in all and by network, across threads. At the bound one
/// of the network that has the most is closed for a newcomer (`NetworkShares`).
public final class ConnectionBound: Sendable {
  public typealias ID = NetworkShares.ID

  private struct Place {
    let network: String
    let close: @Sendable () -> Void
  }

  private struct State {
    var shares: NetworkShares
    var places: [ID: Place] = [:]
  }

  private let state: Mutex<State>
  private let isByNetwork: Bool
  private let onLoss: @Sendable (_ network: String) -> Void

  /// - Parameters:
  ///   - max: The number of connections without a login.
  ///   - perNetworkMax: The number of those of one network; without it one network may have all.
  ///   - ownAge: The age from which the oldest connection of the network with the most gives its place to a newcomer of the same
  ///     network. Until then the newcomer is refused.
  ///   - isByNetwork: Whether networks are distinguished. Otherwise only the number in all is bounded, as if all connections
  ///     came from one network.
  ///   - onLoss: Called for each connection that is closed or refused, with its network.
  public init(
    max: Int, perNetworkMax: Int? = nil, ownAge: Duration = .zero, isByNetwork: Bool = true,
    onLoss: @escaping @Sendable (_ network: String) -> Void = { _ in }
  ) {
    state = Mutex(
      State(
        shares: NetworkShares(
          max: max, perNetworkMax: isByNetwork ? perNetworkMax : nil, replacesOwn: true, ownAge: ownAge)))
    self.isByNetwork = isByNetwork
    self.onLoss = onLoss
  }

  /// The number of connections without a login.
  public var count: Int { state.withLock { $0.shares.count } }

  /// Admits a connection. Returns `nil` if it is refused.
  ///
  /// - Parameters:
  ///   - network: An address of IPv4, or a network of IPv6.
  ///   - isFull: Whether there is room only in the place of another connection (`OpenConnections`).
  ///   - now: The time.
  ///   - close: Closes the connection for a newcomer, unless it has logged in meanwhile. Called at most once, and not after
  ///     `release`, except where both happen at the same time.
  public func admit(
    _ network: String, isFull: Bool = false, now: ContinuousClock.Instant = .now, close: @escaping @Sendable () -> Void
  ) -> ID? {
    let (id, ended) = state.withLock { state -> (ID?, Place?) in
      guard let admission = state.shares.admit(isByNetwork ? network : "", isFull: isFull, now: now) else {
        return (nil, nil)
      }
      state.places[admission.id] = Place(network: network, close: close)
      return (admission.id, admission.ended.flatMap { state.places.removeValue(forKey: $0) })
    }
    if id == nil { onLoss(network) }
    if let ended {
      onLoss(ended.network)
      ended.close()
    }
    return id
  }

  /// Notes a login, or the end of a connection. Further calls have no effect.
  public func release(_ id: ID) {
    state.withLock { state in
      state.shares.release(id)
      state.places[id] = nil
    }
  }
}
