import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// The live stanzas of a link that wait, as a value: for a stream that is being opened, or for earlier rows of the outbox. It is
/// bounded in number and bytes, and so are the bytes of all links together and of each author in them (`SessionMemory.links`).
struct LiveQueue: Sendable {
  enum Item: Sendable {
    case presence(Presence, to: BareJID)
    case stanza(RelayedStanza)
    /// A stanza that the server itself has written, such as an answer.
    case bytes([UInt8])

    /// The memory that it costs, roughly.
    var byteCount: Int {
      switch self {
      case .presence(let presence, let to):
        FederationLimits.waitingStanzaBytes + presence.byteCount + to.description.utf8.count
          + (presence.toResource?.utf8.count ?? 0)
      case .stanza(let stanza): stanza.waitingByteCount
      case .bytes(let bytes): FederationLimits.waitingStanzaBytes + bytes.count
      }
    }

    /// Whether it is a presence or a presence probe: no user waits for it, and it is useful even if it is late.
    var isPresence: Bool {
      switch self {
      case .presence: true
      case .stanza(let stanza): if case .presence = stanza.name { true } else { false }
      case .bytes: false
      }
    }

    /// The author; `nil` for what the server has written.
    fileprivate var author: Party? {
      switch self {
      case .presence(let presence, _): presence.from
      case .stanza(let stanza): stanza.from
      case .bytes: nil
      }
    }

    /// The kind of presence of which only the last one matters. A presence to a resource has no such kind: it may enter a room
    /// (XEP-0045), which the next one to the same address does not. An available presence does not replace an unavailable one, which
    /// leaves a room.
    fileprivate var kind: Kind? {
      switch self {
      case .presence(let presence, let to) where presence.toResource == nil:
        Kind(
          from: presence.from.address, resource: presence.resource, to: to,
          type: presence.isAvailable ? .available : .unavailable)
      case .stanza(let stanza) where stanza.name == .presence("probe") && stanza.toResource == nil:
        Kind(from: stanza.sender, resource: stanza.fromResource, to: stanza.to, type: .probe)
      case .presence, .stanza, .bytes: nil
      }
    }

    func write(into writer: inout ElementWriter) {
      switch self {
      case .presence(let presence, let to): Outbound.write(presence, to: to, into: &writer)
      case .stanza(let stanza): Outbound.write(stanza, into: &writer)
      case .bytes(let bytes): writer.raw(bytes)
      }
    }
  }

  fileprivate struct Kind: Hashable, Sendable {
    enum PresenceType { case available, unavailable, probe }
    let from: BareJID
    let resource: String?
    let to: BareJID
    let type: PresenceType
  }

  private struct Waiting: Sendable {
    let number: Int
    let item: Item
    /// The last row to be sent before it.
    let after: Position
    let owner: String
  }
  /// The waiting presence of a kind.
  private struct Last: Sendable {
    let number: Int
    let byteCount: Int
  }
  /// The waiting stanzas. Each has a number, so that a presence can replace another without moving the others.
  private var waiting = NumberedQueue<Waiting>()
  private var presences = 0
  private var byteCount = 0
  private var count = 0
  private var last: [Kind: Last] = [:]
  private let zone: String
  private let memory: WaitingBytes

  /// Creates the queue of a link to a domain. The domain counts as the author of the server's own stanzas, which answer it.
  init(to domain: String, _ memory: WaitingBytes) {
    zone = DomainZone.of(domain)
    self.memory = memory
  }

  var isEmpty: Bool { waiting.isEmpty }
  var hasPresence: Bool { presences > 0 }
  var hasRequests: Bool { waiting.count > presences }

  /// Adds a stanza behind the rows up to a position. A presence replaces an earlier one of the same kind, and is queued last.
  /// Returns `false` at a bound; then the queue is unchanged.
  mutating func append(_ item: Item, after: Position) -> Bool {
    let (kind, bytes, owner) = (item.kind, item.byteCount, item.author?.shareName ?? zone)
    let former = kind.flatMap { last[$0] }
    let replaced = former?.byteCount ?? 0
    guard former != nil || waiting.count < FederationLimits.waitingMax,
      byteCount - replaced + bytes <= FederationLimits.waitingBytesMax,
      memory.take(bytes, of: owner, replacing: replaced)
    else { return false }
    if let former, let old = waiting.remove(former.number) { _ = leave(old) }
    count += 1
    waiting.append(Waiting(number: count, item: item, after: after, owner: owner), as: count)
    byteCount += bytes
    if item.isPresence { presences += 1 }
    if let kind { last[kind] = Last(number: count, byteCount: bytes) }
    return true
  }

  /// Removes and returns all stanzas but presence.
  mutating func takeRequests() -> [Item] {
    var (requests, others) = ([Item](), NumberedQueue<Waiting>())
    while let stanza = waiting.popFirst() {
      if stanza.item.isPresence { others.append(stanza, as: stanza.number) } else { requests.append(leave(stanza)) }
    }
    waiting = others
    return requests
  }

  /// Removes and returns the first `most` stanzas before a row, or of all if it is `nil`.
  mutating func take(before row: Position?, most: Int = .max) -> [Item] {
    var taken: [Item] = []
    while taken.count < most, isWaiting(before: row), let stanza = waiting.popFirst() { taken.append(leave(stanza)) }
    return taken
  }

  /// Returns whether stanzas wait before a row; with `nil`, whether any wait.
  func isWaiting(before row: Position?) -> Bool {
    guard let first = waiting.first else { return false }
    return row.map { first.after < $0 } ?? true
  }

  /// Releases the memory of a removed stanza, and returns its item.
  private mutating func leave(_ removed: Waiting) -> Item {
    let bytes = removed.item.byteCount
    byteCount -= bytes
    if removed.item.isPresence { presences -= 1 }
    memory.release(bytes, of: removed.owner)
    if let kind = removed.item.kind { last[kind] = nil }
    return removed.item
  }
}

extension RelayedStanza {
  /// The memory that it costs while it waits in a link, roughly.
  var waitingByteCount: Int {
    FederationLimits.waitingStanzaBytes + byteCount + to.description.utf8.count + (toResource?.utf8.count ?? 0)
  }
}

extension Party {
  /// The name with which an author shares the memory of links: for a remote author the zone of the domain, since subdomains cost
  /// nothing.
  var shareName: String { realm.isRemote ? DomainZone.of(address.domain) : address.description }
}
