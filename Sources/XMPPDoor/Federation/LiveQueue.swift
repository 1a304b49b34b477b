import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// The live stanzas of a link that wait for their place in its stream, as a value: for a stream that is being opened, or
/// for the rows of the outbox that were owed before them. It is bounded in number and bytes, and so are the bytes of all links together
/// and of each author in them (`SessionMemory.links`).
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

    /// Whether it is a presence, or the question for one: nobody waits for its answer, and it is of use whenever it comes.
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

    /// The kind of presence of which only the last is of use. A presence to a resource is of no such kind: it may enter a room (XEP-0045),
    /// which the next one to the same address does not. An available presence does not replace an unavailable one, by which its author
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
    /// The last row that was owed before it.
    let after: Position
    let owner: String
  }
  private var waiting: [Waiting] = []
  private var byteCount = 0
  private var count = 0
  /// The number of the presence of each kind.
  private var last: [Kind: Int] = [:]
  private let zone: String
  private let memory: WaitingBytes

  /// Creates the queue of a link to a domain, which counts as the author of what the server itself writes: that answers the domain.
  init(to domain: String, _ memory: WaitingBytes) {
    zone = DomainZone.of(domain)
    self.memory = memory
  }

  var isEmpty: Bool { waiting.isEmpty }
  var hasPresence: Bool { waiting.contains { $0.item.isPresence } }
  var hasRequests: Bool { waiting.contains { !$0.item.isPresence } }

  /// Adds a stanza behind the rows up to a position. A presence replaces the one before it of the same kind. Returns `false` at a bound;
  /// then what waited still waits.
  mutating func append(_ item: Item, after: Position) -> Bool {
    let (kind, bytes, owner) = (item.kind, item.byteCount, item.author?.shareName ?? zone)
    let number = kind.flatMap { last[$0] }
    let index = number.flatMap { number in waiting.firstIndex { $0.number == number } }
    let replaced = index.map { waiting[$0].item.byteCount } ?? 0
    guard index != nil || waiting.count < FederationLimits.waitingMax,
      byteCount - replaced + bytes <= FederationLimits.waitingBytesMax,
      memory.take(bytes, of: owner, replacing: replaced)
    else { return false }
    if let index {
      let old = waiting.remove(at: index)
      _ = leave([old])
    }
    count += 1
    waiting.append(Waiting(number: count, item: item, after: after, owner: owner))
    byteCount += bytes
    if let kind { last[kind] = count }
    return true
  }

  /// Removes and returns all stanzas but presence.
  mutating func takeRequests() -> [Item] {
    let requests = waiting.filter { !$0.item.isPresence }
    waiting.removeAll { !$0.item.isPresence }
    return leave(requests)
  }

  /// Removes and returns the stanzas that stand before a row; all if it is `nil`.
  mutating func take(before row: Position?) -> [Item] {
    if waiting.isEmpty { return [] }
    let taken = Array(row.map { row in waiting.prefix { $0.after < row } } ?? waiting[...])
    waiting.removeFirst(taken.count)
    return leave(taken)
  }

  /// Counts stanzas no more that were removed. Returns them.
  private mutating func leave(_ removed: [Waiting]) -> [Item] {
    for stanza in removed {
      let bytes = stanza.item.byteCount
      byteCount -= bytes
      memory.release(bytes, of: stanza.owner)
      if let kind = stanza.item.kind { last[kind] = nil }
    }
    return removed.map(\.item)
  }
}

extension RelayedStanza {
  /// The memory that it costs while it waits in a link, roughly.
  var waitingByteCount: Int {
    FederationLimits.waitingStanzaBytes + byteCount + to.description.utf8.count + (toResource?.utf8.count ?? 0)
  }
}

extension Party {
  /// The name by which authors are compared where links divide memory among them: of one elsewhere the zone of the domain, as
  /// subdomains cost nothing.
  var shareName: String { realm.isRemote ? DomainZone.of(address.domain) : address.description }
}
