import Basics
import Dialogs
import HTTPPort
import Logging
import NIOCore
import NIOSSL
import NIOTLS
import Peers
import ServerMetrics
import XMLStream
import XMPP

/// A TCP connection between servers, opened by either: TLS (STARTTLS or from the first byte, XEP-0368), and one of the
/// two stream machines on a `RemoteConnection`. `ServerConnection+TLS.swift` sets up TLS,
/// `ServerConnection+Judging.swift` judges the other server, `ServerConnection+Stream.swift` is the stream as links see it.
final class ServerConnection: RemoteConnection {
  /// The purpose of a connection, and the receiver of its end.
  enum Purpose: Sendable {
    /// Another server has opened it. `release` is called once, when it is verified or over.
    case accepted(any FederationStreamOwner, isDirectTLS: Bool, release: @Sendable () -> Void)
    /// This server sends stanzas of a pair. `failed` is called once, unless the owner is notified that it is open.
    case opening(DomainPair, any FederationStreamOwner, failed: @Sendable (StreamEnd) -> Void)
    /// This server asks about a dialback key. `answer` is called once.
    case asking(DialbackRequest, answer: @Sendable (DialbackVerdict) -> Void)
  }

  let streams: ServerStreams
  /// The purpose, until its end has been reported.
  var purpose: Purpose?
  private(set) var owner: (any FederationStreamOwner)?
  let target: ServerTarget?
  /// The address of the server that has opened the connection; behind a proxy not that of the connection.
  let client: SocketAddress?
  /// The network of the other server, by which its judgements are queued; `nil` if networks are not distinguished.
  let network: String?
  /// The pair for which this server has opened the stream, or asks about a key.
  let asked: DirectedPair?
  /// The machine of a stream that the other server has opened; `initiating` is that of a stream that this server has opened.
  var receiving: ReceivingMachine?
  var initiating: InitiatingMachine?

  private(set) lazy var chain = PeerChain(schedule: loopContext.checkPeer) { [weak self] in self?.isOver == false }
  weak var tls: NIOSSLHandler?
  var buffers: TLSBuffers?
  /// Whether TLS waits for the ClientHello: nothing may be sent in the clear before it.
  var awaitsHello = false
  /// Whether a judgement is awaited: nothing is read until then.
  var awaitsJudgement = false
  private var deadline: Scheduled<Void>?
  let since: Timestamp

  /// The pairs that the stream carries, of which the owner was notified. Stanzas may be written for the first one.
  private(set) var pairs: [DomainPair] = []
  /// The proof of the other server's domain by certificate; `nil` for dialback.
  var proof: PeerProof?
  var provedUntil: Timestamp?
  /// The domain that was judged last, and the proof of the domain whose key was verified last.
  var judgedDomain: String?
  var verifiedBy: PeerProof?

  /// The time at which something was last read.
  private var readAt: NIODeadline

  // The state of the stream as links see it.
  var management = ResumptionMachine<Bool>(itemsMax: FederationStreamLimits.unacknowledgedMax)
  var freeManagement = FreeManagement()
  var arrivals: [(number: UInt64, isDone: Bool)] = []
  var isPausedByOwner = false
  var isClosing = false
  var isAcknowledgementDue = false
  var askedAt: NIODeadline?
  var wroteAt = NIODeadline.now()
  /// The time at which the buffers of TLS were last released.
  private var releasedAt = NIODeadline.uptimeNanoseconds(0)
  lazy var handle = FederationStreamHandle(self, loop: loopContext.loop)

  init(
    _ streams: ServerStreams, loopContext: LoopContext, _ purpose: Purpose, target: ServerTarget? = nil, peer: String,
    network: String? = nil, client: SocketAddress? = nil
  ) {
    self.streams = streams
    self.purpose = purpose
    self.target = target
    self.client = client
    self.network = network
    since = streams.door.parley.clock.now
    readAt = loopContext.loop.now
    switch purpose {
    case .accepted(let owner, _, _):
      self.owner = owner
      asked = nil
      receiving = ReceivingMachine(policy: streams.policy)
    case .opening(let pair, let owner, _):
      self.owner = owner
      let pair = DirectedPair(sender: pair.local, target: pair.remote)
      asked = pair
      initiating = InitiatingMachine(policy: streams.policy, pair: pair, hasCertificate: true)
    case .asking(let request, _):
      asked = request.pair.reversed
      initiating = InitiatingMachine(policy: streams.policy, question: request)
    }
    super.init(
      door: streams.door, loopContext: loopContext, peer: peer, network: network, contentNamespace: NS.server,
      unreadBytesMax: FederationLimits.unreadBytesMax)
  }

  var isVerified: Bool { !pairs.isEmpty }
  private var end: StreamEnd? { receiving?.end ?? initiating?.end }

  // MARK: The connection's events

  override var readerLimits: ReaderLimits {
    if isVerified { return .authenticated }
    var limits = ReaderLimits.unauthenticated
    limits.stanzaBytes = FederationLimits.unverifiedStanzaBytesMax
    return limits
  }
  override var isHeldUp: Bool { awaitsJudgement || isPausedByOwner }
  override var isClosed: Bool { receiving?.phase == .closed || initiating?.phase == .closed }

  override func began() {
    loopContext.add(server: self)
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    deadline = loopContext.loop.scheduleTask(in: FederationLimits.negotiation) { me.value.expired() }
  }

  /// Begins to read; if this server has opened the connection, it also sends the stream header.
  override func active() {
    switch purpose {
    case .accepted(_, isDirectTLS: true, _): awaitHello()
    case .accepted(_, isDirectTLS: false, _), nil: break
    case .opening, .asking:
      if target?.isDirectTLS == true { startTLS() } else { perform(initiating?.start() ?? .nothing) }
    }
    flush()
    super.active()
  }

  override func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      door.parley.metrics.tlsHandshakes.add(Both(.federation, SecureVersion(context.pipeline.syncOperations)))
      receiving?.secured()
      perform(initiating?.secured() ?? .nothing)
      flush()
    } else if case .inputClosed = event as? ChannelEvent {
      context.close(promise: nil)
    }
    super.userInboundEventTriggered(context: context, event: event)
  }

  override func failed(_ error: any Error) {
    let reason = error is NIOSSLError ? "TLS failed: \(error)" : "\(error)"
    receiving?.disconnected(reason)
    initiating?.disconnected(reason)
  }

  override func flush() {
    if management.requestIsDue() { request() }
    super.flush()
  }

  override func writabilityChanged() {
    if isWritable, let first = pairs.first { owner?.writable(self, of: first) }
  }

  override func bytesCame() { readAt = loopContext.loop.now }

  override func received(_ event: consuming ReaderEvent) {
    switch event {
    case .opened(let header):
      perform(receiving?.opened(header, id: DoorContext.randomID()) ?? initiating?.opened(header) ?? .nothing)
    case .element(let element):
      let output: ServerStreamOutput = receiving?.received(element) ?? initiating?.received(element) ?? .nothing
      count(output)
      perform(output)
    case .closed: perform(receiving?.closed() ?? initiating?.closed() ?? .nothing)
    case .whitespace: break
    case .violation(let violation):
      perform(receiving?.violated(violation, id: DoorContext.randomID()) ?? initiating?.violated(violation) ?? .nothing)
    }
  }

  /// Charges an element, unless it is exempt.
  private func count(_ output: ServerStreamOutput) {
    switch output {
    case .stanza, .dropped: freeManagement.stanzaCame()
    case .management(let element): if freeManagement.takes(element, of: management.outbound) { return }
    case .nothing, .open, .reopen, .judge, .proceedTLS, .startTLS, .refuseTLS, .send, .authenticated, .opened, .verify,
      .reject, .verdict, .refuse, .close, .finish:
      break
    }
    countElement()
  }

  override func fail(_ error: StreamError) { close(error) }

  /// Closes the connection to free memory, unless it is verified. A stream error is sent if the other server reads.
  func giveMemoryUp() {
    guard !isVerified, let context else { return }
    close(StreamError(.resourceConstraint, "the streams of unknown servers take too much memory"))
    context.pipeline.syncOperations.cut()
  }

  private func expired() {
    guard !isVerified else { return }
    perform(receiving?.expired(id: DoorContext.randomID()) ?? initiating?.expired() ?? .nothing)
  }

  // MARK: The machines' outputs

  func perform(_ output: ServerStreamOutput) {
    switch output {
    case .nothing: break
    case .open(let response, let features, let pairs):
      append { writer in
        response.write(framing: .document, into: &writer)
        StreamFraming.document.writeFeatures(features, into: &writer)
      }
      opened(pairs, by: proof)
    case .reopen(let header):
      beginAgain()
      append { header.write(framing: .document, into: &$0) }
    case .judge(let pair): judge(pair)
    case .proceedTLS(let domain): proceedTLS(domain)
    case .startTLS: startTLS()
    case .refuseTLS:
      append { writer in
        writer.element(.failureTLS)
        StreamFraming.document.writeClose(into: &writer)
      }
      closeChannel()
    case .send(let elements):
      append { writer in for element in elements { element.write(into: &writer) } }
      // XEP-0198 3: stanzas behind <enabled/> are counted.
      if elements.contains(.managementEnabled) { manage() }
    case .authenticated:
      beginAgain()
      append { $0.element(.success) }
    case .opened(let pairs, let element):
      if let element { append { element.write(into: &$0) } }
      opened(pairs, by: initiating != nil && !isVerified ? proof : verifiedBy)
    case .verify(let request): verify(request)
    case .reject(let dialback):
      append { writer in
        dialback.write(into: &writer)
        StreamFraming.document.writeClose(into: &writer)
      }
      refused("dialback: the key is invalid")
      closeChannel()
    case .verdict(let verdict):
      answer(verdict)
      perform(initiating?.close() ?? .nothing)
    case .stanza(let stanza, let pair):
      arrived()
      if let owner { owner.received(stanza, of: domainPair(pair), on: self) }
    case .dropped: dropped()
    case .management(let element): manage(element)
    case .refuse(let header, let error): refuse(header, error)
    case .close:
      append { StreamFraming.document.writeClose(into: &$0) }
      flush()
      let me = NIOLoopBound(self, eventLoop: loopContext.loop)
      loopContext.loop.scheduleTask(in: DoorLimits.closing) { me.value.closeChannel() }
    case .finish(let closing):
      if closing { append { StreamFraming.document.writeClose(into: &$0) } }
      closeChannel()
    }
  }

  private func proceedTLS(_ domain: String) {
    guard let context = streams.trust.serverContext(domain) else { return perform(.refuseTLS) }
    append { $0.element(.proceedTLS) }
    flush()
    restartUnderTLS { chain.serverHandler(context) }
    paceHandshake()
  }

  /// Ends the stream with an error, in an answer to a header if the other server has not had one.
  private func refuse(_ header: StreamResponse?, _ error: StreamError) {
    refused(error.text ?? "\(error.condition.text)")
    if !awaitsHello {
      append { writer in
        header?.write(framing: .document, into: &writer)
        error.write(into: &writer)
        StreamFraming.document.writeClose(into: &writer)
      }
    }
    closeChannel()
  }

  /// Notifies the owner of pairs that the stream carries from now on.
  ///
  /// - Parameter proof: How the pairs' domain was proved by certificate; `nil` for dialback. Each pair has its own.
  private func opened(_ carried: [DirectedPair], by proof: PeerProof?) {
    guard let owner, !carried.isEmpty else { return }
    flush()
    if initiating?.isManaged == true { manage() }
    for pair in carried.map(domainPair) where !pairs.contains(pair) {
      let isFirst = pairs.isEmpty
      pairs.append(pair)
      if isFirst {
        self.proof = proof
        sending = door.parley.sending.budget(of: .domain(pair.remote), now: door.parley.clock.now)
        verified(pair)
      }
      let mayWrite = isFirst && (initiating != nil || receiving?.isBidirectional == true)
      owner.opened(self, for: pair, mayWrite: mayWrite, isCertified: proof != nil)
    }
  }

  private func verified(_ pair: DomainPair) {
    deadline?.cancel()
    memory = nil
    door.logger.debug(
      "a stream between servers is open",
      metadata: [
        "local": "\(pair.local)", "remote": "\(pair.remote)", "peer": "\(peer)",
        "verified": "\(proof?.rawValue ?? "dialback")", "direction": "\(initiating == nil ? "in" : "out")",
      ])
    if case .accepted(_, _, let release) = purpose {
      release()
      streams.cameIn(from: pair.remote)
    }
    purpose = nil
  }

  private func domainPair(_ pair: DirectedPair) -> DomainPair {
    streams.policy.domains.contains(pair.sender)
      ? DomainPair(local: pair.sender, remote: pair.target) : DomainPair(local: pair.target, remote: pair.sender)
  }

  // MARK: Time and the end

  func tick(_ now: NIODeadline) {
    guard isVerified else { return }
    countUnread(atTick: true)
    guard isStanzaInTime(now) else { return fail(.lateStanza) }
    if let provedUntil, provedUntil < door.parley.clock.now {
      // The next stream presents another certificate, or is refused with a reason.
      return close(nil)
    }
    // The answer to a request may follow stanzas that are not read yet.
    if askedAt != nil, sending.mayHoldInput(now: door.parley.clock.now) { askedAt = now }
    if let askedAt, now > askedAt + FederationStreamLimits.acknowledgement {
      // The other server would not receive a stream error.
      failed(ChannelError.connectTimeout(FederationStreamLimits.acknowledgement))
      context?.pipeline.syncOperations.cut()
    } else if now > wroteAt + keepAlive {
      wroteAt = now
      // RFC 6120 4.6.1: whitespace, or a request that is answered.
      if acknowledges { request() } else { append { $0.raw(" ") } }
      flush()
    } else if usedAt > releasedAt, now > usedAt + FederationStreamLimits.buffersKept {
      releasedAt = now
      releaseBuffers()
    }
  }

  /// The time at which something was last read or written.
  private var usedAt: NIODeadline { max(wroteAt, readAt) }

  /// The silence after which a keep-alive is sent: half of the time that the other server allows (XEP-0478), if that is less.
  private var keepAlive: TimeAmount {
    let allowed = (receiving?.peerLimits ?? initiating?.peerLimits)?.idleSeconds
    return min(FederationStreamLimits.keepAlive, .seconds(Int64(clamping: max(1, min(allowed ?? 3_600, 3_600) / 2))))
  }

  /// Ends a connection whose handler was never added to a pipeline.
  func abandoned(_ reason: String) {
    receiving?.disconnected(reason)
    initiating?.disconnected(reason)
    memory = nil
    reportEnd()
  }

  override func ended() {
    receiving?.disconnected()
    initiating?.disconnected()
    deadline?.cancel()
    loopContext.remove(server: self)
    reportEnd()
  }

  private func reportEnd() {
    let purpose = self.purpose
    self.purpose = nil
    switch purpose {
    case .accepted(_, _, let release): release()
    case .opening(_, _, let failed): failed(end ?? .lost("the connection was lost"))
    case .asking(_, let answer):
      let isUnknown = if case .failed(let error)? = end { error.condition == .hostUnknown } else { false }
      answer(.error(isUnknown ? .remoteServerNotFound : .remoteServerTimeout))
    case nil: break
    }
    guard let first = pairs.first else { return }
    if receiving != nil { streams.went(first.remote) }
    if case .failed(let error)? = end, error.condition == .systemShutdown || error.condition == .hostGone {
      owner?.left(pairs)
    }
    let isLost = if case .lost? = end { !isClosing } else { false }
    owner?.closed(self, of: pairs, isLost: isLost)
    owner = nil
  }

  private func answer(_ verdict: DialbackVerdict) {
    guard case .asking(_, let answer) = purpose else { return }
    purpose = nil
    answer(verdict)
  }
}
