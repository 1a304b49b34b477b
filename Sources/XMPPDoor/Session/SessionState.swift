import Addresses
import Dialogs
import NIOCore
import XMPP

/// What is kept of a stanza until the client acknowledges it: the entry, which
/// others share, or the bytes of what is nowhere else.
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

/// What a resumed session goes on with.
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
  let rooms: RoomSeats
  let management: Management
  var items: [Sent] { management.snapshot.items.map(\.item) }
}
