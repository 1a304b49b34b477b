import NIOCore
import Synchronization
import XMLStream
import XMPP

/// The BOSH sessions of this door by their ids; each lives on one event loop. They are bounded as streams are: by
/// `XMPPListener.unauthenticated` before they authenticate, then by the sessions of each user.
final class BOSHSessions: Sendable {
  private struct Place: Sendable {
    let loop: any EventLoop
    let transport: NIOLoopBound<BOSHTransport>
    var isLoggedIn = false
  }

  private let listener: XMPPListener
  private let group: any EventLoopGroup
  private let places = Locked<[String: Place]>([:])
  private let exchangeCount = Atomic(0)

  init(_ listener: XMPPListener, _ group: any EventLoopGroup) {
    self.listener = listener
    self.group = group
  }

  /// The bytes of a request whose session is not logged in, and of others.
  static let bytesMaxBeforeLogin = ReaderLimits.unauthenticated.stanzaBytes + DoorLimits.bodyOverheadBytes
  static let bytesMax = ReaderLimits.authenticated.stanzaBytes + DoorLimits.bodyOverheadBytes

  /// Returns whether a request is one of a session that is logged in. Its `<body>` tag is enough for that, which is read as
  /// the header of a stream.
  ///
  /// - Parameter beginning: the request, or the first bytes of it.
  func isLoggedIn(_ beginning: ByteBuffer) -> Bool {
    var reader = ElementReader(limits: .authenticated)
    var sid: String?
    _ = beginning.withUnsafeReadableBytes { raw in
      reader.feed(raw) { event in
        if case .opened(let header) = event { sid = header.element["sid"] }
        return .stop
      }
    }
    guard let sid else { return false }
    return places.withLock { $0[sid]?.isLoggedIn == true }
  }

  /// Returns the response to one request when it is due.
  ///
  /// - Parameters:
  ///   - onLogin: called if the session is a logged-in user's, before the response.
  ///   - whenClientLeaves: calls a closure once if the connection of the request ends before its response.
  func answer(
    to body: ByteBuffer, from peer: String, onLogin: @escaping @Sendable () -> Void,
    whenClientLeaves: @Sendable (@escaping @Sendable () -> Void) -> Void
  ) async -> ByteBuffer {
    let request: BOSHRequest
    let base = isLoggedIn(body) ? ReaderLimits.authenticated : .unauthenticated
    do throws(BOSHCondition) { request = try Self.read(body, base) } catch {
      return BOSHResponse(.terminated(error)).written()
    }
    let count = body.readableBytes
    let exchange = exchangeCount.wrappingAdd(1, ordering: .relaxed).newValue
    return await withCheckedContinuation { continuation in
      let answer: BOSHTransport.Answer = { continuation.resume(returning: $0) }
      // The request for a session is not held, so that its connection does not matter.
      guard let sid = request.sid else { return open(request, as: exchange, count, from: peer, answer) }
      guard let place = places.withLock({ $0[sid] }) else {
        return answer(BOSHResponse(.terminated(.itemNotFound)).written())
      }
      place.loop.execute {
        if place.transport.value.isLoggedIn { onLogin() }
        place.transport.value.received(request, as: exchange, byteCount: count, answer: answer)
      }
      whenClientLeaves { place.loop.execute { place.transport.value.abandoned(exchange) } }
    }
  }

  /// Reads a request whose payloads have the bounds of `base`.
  private static func read(_ body: ByteBuffer, _ base: ReaderLimits) throws(BOSHCondition) -> BOSHRequest {
    var limits = base
    limits.stanzaBytes += DoorLimits.bodyOverheadBytes
    limits.depth += 1
    let element: Element
    // Whitespace may precede the `<body/>`, and its XML declaration, as it may a header on TCP.
    let bytes = body.readableBytesView.behindWhitespace(bytesMax: limits.headerBytes)
    do throws(XMLViolation) {
      element = try Element(parsing: bytes, defaultNamespace: "", limits: limits)
    } catch {
      throw .badRequest
    }
    return try BOSHRequest(element)
  }

  private func open(
    _ request: BOSHRequest, as exchange: Int, _ count: Int, from peer: String,
    _ answer: @escaping BOSHTransport.Answer
  ) {
    let loop = group.next()
    loop.execute { [self] in
      // The id cannot be guessed (XEP-0124 7.2).
      let sid = DoorContext.randomID()
      let connected = try? listener.connect(on: loop, framing: .bodies, isSecured: true, peer: peer) { [self] _ in
        places.withLock { if $0[sid] != nil { $0[sid]?.isLoggedIn = true } }
        return true
      }
      guard let connection = connected else {
        return answer(BOSHResponse(.terminated(.remoteConnectionFailed)).written())
      }
      let transport = BOSHTransport(request, sid: sid, connection: connection) { [self] in
        places.withLock { $0[sid] = nil }
      }
      let place = Place(loop: loop, transport: NIOLoopBound(transport, eventLoop: loop))
      places.withLock { $0[sid] = place }
      transport.received(request, as: exchange, byteCount: count, answer: answer)
    }
  }

  /// Ends all sessions when the server stops; held requests are answered.
  func stop() {
    for place in places.withLock({ Array($0.values) }) { place.loop.execute { place.transport.value.stop() } }
  }
}
