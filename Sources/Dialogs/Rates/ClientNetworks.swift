public import Basics

/// The networks of clients that have bounds of their own, beside their users: turns at the threads that read, budgets of what is sent,
/// and shares of the connections.
public struct ClientNetworks: Sendable {
  /// Whether there are any; otherwise only users have bounds, as where all clients seem to come from one address.
  public var isByNetwork = true
  /// The networks behind which there are many others, such as those of proxies. Clients of this machine count as such, too.
  public var trusted: [Network] = []

  public init() {}

  /// Returns the name of a client's network; `nil` if the client has bounds by its user alone.
  ///
  /// - Parameter peer: The address of the client as `LiveSession.peer` has it; `nil` if it is not known.
  public func name(of peer: String?) -> String? {
    guard isByNetwork, let peer else { return nil }
    guard let address = IPAddress(peer) ?? IPAddress(peer + "::") else { return peer }
    // Of an IPv6 address only the first half is known: that of `::1` is zero.
    let isHere = address.isLoopback || address.bytes.allSatisfy { $0 == 0 }
    return isHere || trusted.contains { $0.contains(address) } ? nil : peer
  }
}
