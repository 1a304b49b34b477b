import Addresses
import Dialogs

/// The requests of users here that were sent to another domain and are not answered yet, as a value: if the stream ends,
/// their requesters are told so. At `FederationLimits.requestsMax` the oldest is forgotten.
struct OpenRequests: Sendable {
  private struct Key: Hashable {
    let id: String
    let requester: String
    let requested: String
  }
  private var waiting: [Key: (number: Int, stanza: RelayedStanza)] = [:]
  private var count = 0

  /// Notes that a stanza was sent; only requests are kept.
  mutating func sent(_ stanza: RelayedStanza) {
    guard case .iq(let type) = stanza.name, type == "get" || type == "set", let id = stanza.id else { return }
    if waiting.count >= FederationLimits.requestsMax,
      let oldest = waiting.min(by: { $0.value.number < $1.value.number })?.key
    {
      waiting[oldest] = nil
    }
    count += 1
    let requester = Outbound.address(stanza.from.address, stanza.fromResource)
    let requested = Outbound.address(stanza.to, stanza.toResource)
    waiting[Key(id: id, requester: requester, requested: requested)] = (count, stanza)
  }

  mutating func answered(_ id: String, from: JID, to: JID) {
    if waiting.isEmpty { return }
    waiting[Key(id: id, requester: to.description, requested: from.description)] = nil
  }

  /// Removes and returns all, in the order in which they were sent.
  mutating func takeAll() -> [RelayedStanza] {
    defer { waiting = [:] }
    return waiting.values.sorted { $0.number < $1.number }.map(\.stanza)
  }
}
