import Addresses
import Dialogs
import NIOCore
import XMPP

/// A stanza that is kept until the client acknowledges it: a reference to an entry, which others share, or the bytes of
/// a stanza that is stored nowhere else.
enum Sent: Sendable {
  case entry(Entry, Form)
  case bytes(ByteBuffer)

  var byteCount: Int {
    switch self {
    case .entry: 0
    case .bytes(let buffer): buffer.readableBytes
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
  var items: [Sent] { management.snapshot.items.map(\.item) }
}
