import Dialogs
import NIOCore
import Synchronization

/// The reference to a session that other threads may hold, to reach it on its lane. The session itself never leaves its
/// event loop.
final class SessionHandle: LiveSession {
  let id: SessionID
  let party: Party
  let lane: Lane
  let peer: String?
  let loop: any EventLoop
  private let place: NIOLoopBound<Place>
  private let lagging = Atomic<Bool>(false)

  var leavesUnread: Bool { lagging.load(ordering: .relaxed) }
  func setLeavesUnread(_ leavesUnread: Bool) { lagging.store(leavesUnread, ordering: .relaxed) }

  /// The state of the session, as seen from its handle.
  final class Place {
    enum State {
      /// Not created yet: early deliveries wait (the hub knows a resumed session a moment before its state has changed
      /// loops).
      case expected([Delivery])
      case here(XMPPSession)
      /// Resumed elsewhere: deliveries that still arrive here are passed on.
      case moved(SessionHandle)
      case gone
    }
    var state = State.expected([])
  }

  /// Creates a handle; called on the session's loop.
  init(party: Party, loopContext: LoopContext, peer: String? = nil) {
    id = SessionID(.random(in: .min ... .max))
    self.party = party
    self.peer = peer
    lane = loopContext.lane
    loop = loopContext.loop
    place = NIOLoopBound(Place(), eventLoop: loopContext.loop)
  }

  /// The session, if it is still there; read on its loop.
  var session: XMPPSession? {
    if case .here(let session) = place.value.state { session } else { nil }
  }

  func stands(_ session: XMPPSession) {
    let early: [Delivery] = if case .expected(let waiting) = place.value.state { waiting } else { [] }
    place.value.state = .here(session)
    for delivery in early { session.receive(delivery) }
  }

  func moved(to handle: SessionHandle) { place.value.state = .moved(handle) }
  func ended() { place.value.state = .gone }

  func receive(_ delivery: Delivery) {
    switch place.value.state {
    case .here(let session): session.receive(delivery)
    case .expected(var early):
      // Thousands of deliveries can come before the session: the array has one owner, so it is not copied for each.
      place.value.state = .gone
      early.append(delivery)
      place.value.state = .expected(early)
    case .moved(let handle): handle.lane.deliver(delivery, to: handle)
    case .gone: break
    }
  }

  func batchEnded() {
    if case .here(let session) = place.value.state { session.batchEnded() }
  }

  /// Runs `body` on the session's loop, with the session if it is still there. May be called from any thread.
  func reach(_ body: @escaping @Sendable (XMPPSession?) -> Void) {
    loop.execute { body(self.session) }
  }
}

/// The sessions that can be resumed, suspended or connected, by stream (XEP-0198).
final class SuspendedSessions: Sendable {
  private let sessions = Locked<[StreamNonce: SessionHandle]>([:])

  func put(_ handle: SessionHandle, under nonce: StreamNonce) -> Bool {
    sessions.withLock { sessions in
      guard sessions.count < DoorLimits.suspendedMax else { return false }
      sessions[nonce] = handle
      return true
    }
  }

  func take(_ nonce: StreamNonce, of party: Party) -> SessionHandle? {
    sessions.withLock { sessions in
      guard let found = sessions[nonce], found.party == party else { return nil }
      sessions[nonce] = nil
      return found
    }
  }

  func remove(_ nonce: StreamNonce, _ handle: SessionHandle) {
    sessions.withLock { if $0[nonce] === handle { $0[nonce] = nil } }
  }

  var all: [SessionHandle] { sessions.withLock { Array($0.values) } }
}
