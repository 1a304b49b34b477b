import Addresses
import Dialogs
import XMLStream
import XMPP

/// The way by which a session's stanzas leave: its client's connection, or the link to a user elsewhere
/// (`RemoteOutlet`). It is confined to the session's event loop.
protocol SessionOutlet: AnyObject {
  /// Whether the other side takes more at the moment.
  var isWritable: Bool { get }
  /// The bytes that wait to be taken.
  var gatheredBytes: Int { get }
  func write(_ body: (inout ElementWriter) -> Void)
  func flush()
  /// Sends what was gathered if it is much. Returns whether work that has waited may write more now; if not,
  /// `XMPPSession.resumeReading` or `resumeAnswers` is called once it may.
  func takesMore() -> Bool
  /// Notes that the element just handled has taken as long as so many further ones (`DoorLimits.elementsAtOnce`).
  func handled(elements count: Int)
  /// Stops reading from the other side, until each reason is gone.
  func pause(_ why: ReadingPauses)
  func unpause(_ why: ReadingPauses)
  /// Notes that the stanza just received is posted. Returns what is to be run after its outcome; `nil` where the session
  /// itself counts what it has handled (XEP-0198).
  func posting() -> (() -> Void)?
  /// Returns a post that is queued behind all those of the session, which ends; `nil` for none.
  func ending() -> Post?
  /// Notes that the session has become an occupant of a room, or is none any more.
  func entered(_ room: BareJID)
  func left(_ room: BareJID)
  /// Ends the stream.
  func fail(_ error: StreamError)
}

extension SessionOutlet {
  func takesMore() -> Bool { true }
  func handled(elements count: Int) {}
  func posting() -> (() -> Void)? { nil }
  func ending() -> Post? { nil }
  func entered(_ room: BareJID) {}
  func left(_ room: BareJID) {}
}

/// The reasons for which a connection or link is not read.
struct ReadingPauses: OptionSet {
  let rawValue: UInt8
  /// The machine waits for an answer, or for several (`XMPPConnection.waits`).
  static let machine = ReadingPauses(rawValue: 1)
  /// The session has its maximum of posts in flight.
  static let posts = ReadingPauses(rawValue: 2)
  /// The client does not read.
  static let output = ReadingPauses(rawValue: 4)
  /// The session has its maximum of lookups.
  static let lookups = ReadingPauses(rawValue: 8)
  /// The user has sent as much as one may (`SendingBudget`).
  static let sending = ReadingPauses(rawValue: 16)
  /// Much was written, or many elements of one read were handled (`DoorLimits.elementsAtOnce`), or of all connections together
  /// (`LaneTurns`): the loop's other work is due.
  static let turn = ReadingPauses(rawValue: 32)
}
