import Addresses
import Dialogs
import XMLStream
import XMPP

/// The outgoing side of a remote user's session. All sessions of one domain share a link. It keeps a reference to the
/// session, since there is no connection that does.
final class RemoteOutlet: SessionOutlet {
  private(set) var session: XMPPSession?
  private weak var work: LinkWork?
  private var pauses: ReadingPauses = []
  /// The posts of the session for which acknowledgements wait (`LinkWork.hold`).
  private var held: Set<Int> = []
  private var link: (any RemoteLink)? { work?.link }

  init(_ session: XMPPSession, _ work: LinkWork) {
    self.session = session
    self.work = work
    // The answer to a request in a local user's name is not sent by the session (XEP-0356).
    if session.impersonated?.behalf == nil { session.attach(self) }
  }

  /// Always true without a link, so that nothing waits for it.
  var isWritable: Bool { link?.isWritable ?? true }
  /// Always zero: the link's owner bounds the bytes that all its sessions gather.
  var gatheredBytes: Int { 0 }

  func write(_ body: (inout ElementWriter) -> Void) { link?.write(body) }

  func flush() {
    link?.flush()
    if let session, session.impersonated == nil { work?.residents.flushed(session) }
  }

  func pause(_ why: ReadingPauses) {
    // Other users of the link do not wait for a user whose messages wait for the before-send hook.
    if why == .posts, let session, work?.readsOn(for: session) == true { return }
    if pauses.isEmpty { work?.paused() }
    pauses.insert(why)
  }

  func unpause(_ why: ReadingPauses) {
    guard pauses.contains(why) else { return }
    pauses.remove(why)
    if pauses.isEmpty { work?.unpaused() }
  }

  func posting() -> (() -> Void)? {
    guard let work, session?.impersonated == nil else { return nil }
    let number = work.hold()
    held.insert(number)
    return { [weak self] in
      if self?.held.remove(number) != nil { self?.work?.release(number) }
    }
  }

  func ending() -> Post? {
    guard !held.isEmpty, let session, let work else { return nil }
    defer { held = [] }
    return work.releasing(held, of: session.party)
  }

  func entered(_ room: BareJID) {
    if session != nil { work?.residents.count(1, in: room) }
  }

  func left(_ room: BareJID) {
    if session != nil { work?.residents.count(-1, in: room) }
  }

  /// Ends the session alone, not the link.
  func fail(_ error: StreamError) { session?.end(isLost: true) }

  /// Releases the session.
  func close() {
    if let session { for room in session.rooms.joinedRooms.keys { left(room) } }
    session = nil
    if !pauses.isEmpty { work?.unpaused() }
    pauses = []
  }
}
