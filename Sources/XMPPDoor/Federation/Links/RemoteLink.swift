import Addresses
import Dialogs
import XMLStream
import XMPP

/// The connection to the users of a remote domain: a component's (XEP-0114), or the streams of a pair of domains.
/// `RemoteInbound` handles its stanzas. It is confined to its event loop.
protocol RemoteLink: LiveSession {
  /// The local realm whose users it reaches.
  var home: Realm { get }
  /// The realm of the users behind it.
  var realm: RealmID { get }
  var door: DoorContext { get }
  var loopContext: LoopContext { get }
  /// The posts and requests of the users behind it.
  var work: LinkWork? { get }

  /// Returns whether stanzas for this local domain may come by the link.
  func speaksFor(_ domain: String) -> Bool
  /// Whether the other side accepts more at the moment. Otherwise entries wait in the log, until the link's owner calls
  /// `LinkWork.resumeReading`.
  var isWritable: Bool { get }
  func write(_ body: (inout ElementWriter) -> Void)
  func flush()
}

extension RemoteLink {
  var parley: Parley { door.parley }
  var isWritable: Bool { true }

  /// Queues a post; if it is refused, `stanza` is answered with the error.
  func post(_ intent: Intent, by author: Party, for stanza: Stanza, behalf: Behalf? = nil) {
    work?.post(intent, by: author, for: stanza, behalf: behalf)
  }

  /// Sends an event to its remote recipient (`NodeEvent.recipient`).
  func notify(_ event: NodeEvent) {
    guard let recipient = event.recipient else { return }
    write { NodeWriter.write(event, to: recipient, into: &$0) }
  }

  /// Answers with an error, if the stanza may be answered.
  ///
  /// - Parameter code: The code of the problem behind it; nil for the error's condition.
  func refuse(_ stanza: Stanza, _ error: StanzaError, code: String? = nil) {
    door.log(error, of: stanza, code: code, ["from": (try? stanza.from())??.description ?? ""])
    guard stanza.mayBeAnswered else { return }
    write { error.writeReply(to: stanza, into: &$0) }
  }

  /// Answers with a problem's error.
  func refuse(_ stanza: Stanza, _ problem: Problem) { refuse(stanza, StanzaError(problem), code: problem.code) }
}
