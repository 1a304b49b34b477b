import Addresses
import Dialogs
import NIOCore
import XMPP

/// A stanza that is kept until the client acknowledges it: a reference to an entry, which others share, an entry that was
/// read from an archive for this session alone, or the bytes of a stanza that is stored nowhere else.
enum Sent: Sendable {
  case entry(Entry, Form)
  case result(Entry, ArchiveResult)
  case bytes(ByteBuffer)

  /// A stanza from before a restart that cannot be sent again. It is there only until the client
  /// has reported, at its resumption, whether it received the stanza.
  static let gone = Sent.bytes(ByteBuffer())
  var isGone: Bool { if case .bytes(let buffer) = self { buffer.readableBytes == 0 } else { false } }

  /// The bytes of an entry that it refers to, which other sessions may share.
  var entryBytes: Int { if case .entry(let entry, _) = self { entry.weight } else { 0 } }

  /// The memory that it costs by itself.
  var byteCount: Int {
    switch self {
    case .entry: 0
    case .result(let entry, let result): entry.weight + result.byteCount
    case .bytes(let buffer): buffer.readableBytes
    }
  }

  /// The bytes of the stanza as it would be sent again, about.
  var resentBytes: Int {
    switch self {
    case .entry(let entry, _): max(entry.weight, DoorLimits.archiveResultBytes)
    case .result(let entry, let result): max(entry.weight, DoorLimits.archiveResultBytes) + result.byteCount
    case .bytes(let buffer): buffer.readableBytes
    }
  }

  /// The bytes that a stop stores of it, about.
  var storedBytes: Int {
    switch self {
    case .entry(let entry, _):
      if case .marker = entry.fact { resentBytes } else { DoorLimits.archivedEntryBytes }
    case .result(_, let result): result.byteCount + DoorLimits.archivedEntryBytes
    case .bytes(let buffer): buffer.readableBytes + DoorLimits.archivedEntryBytes
    }
  }
}

/// The state that a resumed session continues with.
struct SessionState: Sendable {
  struct Management: Sendable {
    let snapshot: ResumptionMachine<Sent>.Snapshot
    let handled: UInt32
  }
  let jid: FullJID
  let nonce: StreamNonce
  let presence: Presence?
  let cursor: StreamCursor
  let confirmation: DeliveryConfirmation
  let untold: XMPPSession.Untold?
  let rooms: JoinedRooms
  let roomsElsewhere: RoomsElsewhere
  let management: Management
  /// The calls with apps, which do not outlive the process.
  var calls: [JingleSessions.Key: JingleSessions.Open] = [:]
  /// The signals for which there was no room. A restart forgets them.
  var held = DeferredSignals()
  var items: [Sent] { management.snapshot.items.map(\.item) }
}
