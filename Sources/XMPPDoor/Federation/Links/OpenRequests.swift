import Addresses
import Basics
import Dialogs

/// The unanswered requests of local users to another domain, as a value: if the stream ends, their requesters get an error. At
/// `FederationLimits.requestsMax` the oldest is forgotten. Their bytes are part of the memory of the links
/// (`SessionMemory.links`); at its bounds a request is sent without being recorded here.
struct OpenRequests: Sendable {
  private struct Key: Hashable {
    let id: String
    let requester: String
    let requested: String
  }
  private var waiting: [Key: (number: Int, stanza: RelayedStanza)] = [:]
  private var count = 0
  private let memory: WaitingBytes

  init(_ memory: WaitingBytes) { self.memory = memory }

  /// Notes that a stanza was sent. Only requests are kept, with the parts that an answer needs.
  mutating func sent(_ stanza: RelayedStanza) {
    guard case .iq(let type) = stanza.name, type == "get" || type == "set", let id = stanza.id else { return }
    let requester = Outbound.address(stanza.from.address, stanza.fromResource)
    let requested = Outbound.address(stanza.to, stanza.toResource)
    let key = Key(id: id, requester: requester, requested: requested)
    remove(key)
    if waiting.count >= FederationLimits.requestsMax,
      let oldest = waiting.min(by: { $0.value.number < $1.value.number })?.key
    {
      remove(oldest)
    }
    let kept = RelayedStanza(
      name: stanza.name, from: stanza.from, fromResource: stanza.fromResource, room: stanza.room, server: stanza.server,
      to: stanza.to, toResource: stanza.toResource, id: id, extras: [])
    guard memory.take(Self.byteCount(kept), of: kept.from.shareName) else { return }
    count += 1
    waiting[key] = (count, kept)
  }

  private mutating func remove(_ key: Key) {
    guard let removed = waiting.removeValue(forKey: key)?.stanza else { return }
    memory.release(Self.byteCount(removed), of: removed.from.shareName)
  }

  /// Returns the memory of a request with its key, which has copies of its addresses.
  private static func byteCount(_ stanza: RelayedStanza) -> Int {
    2 * stanza.waitingByteCount + stanza.from.address.description.utf8.count + (stanza.fromResource?.utf8.count ?? 0)
  }

  mutating func answered(_ id: String, from: JID, to: JID) {
    if waiting.isEmpty { return }
    remove(Key(id: id, requester: to.description, requested: from.description))
  }

  /// Removes and returns all, in the order in which they were sent.
  mutating func takeAll() -> [RelayedStanza] {
    let all = waiting.sorted { $0.value.number < $1.value.number }
    for request in all { remove(request.key) }
    return all.map { $0.value.stanza }
  }
}
