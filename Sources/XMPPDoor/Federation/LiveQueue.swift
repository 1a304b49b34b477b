import Addresses
import Dialogs
import XMLStream
import XMPP

/// The live stanzas of a link that wait for their place in its stream, as a value: for a stream that is being opened, or
/// for the rows of the outbox that were owed before them. It is bounded in number and bytes.
struct LiveQueue: Sendable {
  enum Item: Sendable {
    case presence(Presence, to: BareJID)
    case stanza(RelayedStanza)
    /// A stanza that the server itself has written, such as an answer.
    case bytes([UInt8])

    /// The memory that it costs, roughly.
    var byteCount: Int {
      switch self {
      case .presence(let presence, _): 256 + presence.byteCount
      case .stanza(let stanza): 256 + stanza.byteCount
      case .bytes(let bytes): bytes.count
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

    func write(into writer: inout ElementWriter) {
      switch self {
      case .presence(let presence, let to): Outbound.write(presence, to: to, into: &writer)
      case .stanza(let stanza): Outbound.write(stanza, into: &writer)
      case .bytes(let bytes): writer.raw(bytes)
      }
    }
  }

  private struct Waiting: Sendable {
    let item: Item
    /// The last row that was owed before it.
    let after: Position
  }
  private var waiting: [Waiting] = []
  private var byteCount = 0

  var isEmpty: Bool { waiting.isEmpty }
  var hasPresence: Bool { waiting.contains { $0.item.isPresence } }
  var hasRequests: Bool { waiting.contains { !$0.item.isPresence } }

  /// Adds a stanza behind the rows up to a position. Returns `false` at a bound.
  mutating func append(_ item: Item, after: Position) -> Bool {
    guard waiting.count < FederationLimits.waitingMax,
      byteCount + item.byteCount <= FederationLimits.waitingBytesMax
    else { return false }
    waiting.append(Waiting(item: item, after: after))
    byteCount += item.byteCount
    return true
  }

  /// Removes and returns all stanzas but presence.
  mutating func takeRequests() -> [Item] {
    let items = waiting.map(\.item).filter { !$0.isPresence }
    waiting.removeAll { !$0.item.isPresence }
    for item in items { byteCount -= item.byteCount }
    return items
  }

  /// Removes and returns the stanzas that stand before a row; all if it is `nil`.
  mutating func take(before row: Position?) -> [Item] {
    if waiting.isEmpty { return [] }
    let taken = row.map { row in waiting.prefix { $0.after < row } } ?? waiting[...]
    let items = taken.map(\.item)
    waiting.removeFirst(items.count)
    for item in items { byteCount -= item.byteCount }
    return items
  }
}
