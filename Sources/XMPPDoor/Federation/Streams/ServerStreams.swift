import Addresses
import Basics
import Dialogs
import HTTPPort
import Logging
import NIOCore
import NIOSSL
import Peers
import ServerMetrics
import Synchronization
import XMPP

/// Finds and connects servers of other domains; `Dialer` implements it.
protocol ServerDialing: Sendable {
  /// Connects to a server of a domain.
  ///
  /// - Parameter excluded: Servers that are skipped, since the stream to them has failed.
  func dial(
    _ domain: String, on loop: any EventLoop, excluding excluded: [ServerTarget]
  ) async throws(DialFailure) -> DialedConnection
  /// Returns all servers of a domain, for streams that come from it (RFC 7673 3).
  func targets(of domain: String) async throws(DialFailure) -> [ServerTarget]
  /// Returns the servers of a domain for the operator's check of whether it can be reached. Fails with `noSuchDomain` if the DNS
  /// has neither servers nor addresses for it.
  func existingTargets(of domain: String) async throws(DialFailure) -> [ServerTarget]
  /// Forgets all cached names, so that they are looked up again.
  func forget()
}

extension Dialer: ServerDialing {}

/// The parts that all streams to and from other servers share. It opens streams and judges peers.
final class ServerStreams: FederationStreamOpener {
  let door: DoorContext
  let policy: ServerStreamPolicy
  let trust: any PeerTrust
  let dialing: any ServerDialing
  /// The rate limits of incoming connections without TLS, and of handshakes; `nil` for none.
  let connections: PacedConnections?
  let handshakes: PacedConnections?
  /// The memory of unverified connections, including streams that this server opens, until they are verified: strangers can cause
  /// such streams, by messages to their own domains, and by dialback.
  private let memory: MemoryBound
  private let all: OpenConnections
  private let rules: DomainPolicy
  private let mounted: [MountedLoop]
  private let verifier = DialbackVerifier()
  private let judgements = JudgementTurns()
  private let incoming = Locked(Incoming())

  private struct Incoming {
    /// The number of verified streams that each domain and each zone has opened.
    var streams: [String: Int] = [:]
    var streamsOfZones: [String: Int] = [:]
    /// The reasons why the last streams were refused, of each domain from each network, oldest first. Anybody may name any domain,
    /// so at the bound the network with the most loses its oldest.
    private var refusals: [Refusal] = []
    private var shares = NetworkShares(max: FederationStreamLimits.refusalsMax, replacesOwn: true)
    var pace = LogPace(
      interval: FederationStreamLimits.refusalLogInterval,
      linesOfReasonMax: FederationStreamLimits.refusalLinesOfNetworkMax,
      linesMax: FederationStreamLimits.refusalLinesMax)

    private struct Refusal {
      let id: NetworkShares.ID
      let domain: String
      let network: String
      let reason: String
    }

    mutating func refused(_ domain: String, of network: String, reason: String) {
      forget { $0.domain == domain && $0.network == network }
      guard let admission = shares.admit(network) else { return }
      if let ended = admission.ended { refusals.removeAll { $0.id == ended } }
      refusals.append(Refusal(id: admission.id, domain: domain, network: network, reason: reason))
    }

    mutating func accepted(_ domain: String) { forget { $0.domain == domain } }

    func lastRefusal(of domain: String) -> String? { refusals.last { $0.domain == domain }?.reason }

    private mutating func forget(where isForgotten: (Refusal) -> Bool) {
      for refusal in refusals where isForgotten(refusal) { shares.release(refusal.id) }
      refusals.removeAll(where: isForgotten)
    }

    /// Returns whether a domain may open no more streams.
    ///
    /// - Parameter isKnown: Whether local users know users of the domain.
    func isFull(_ domain: String, isKnown: Bool) -> Bool {
      let ofZoneMax = isKnown ? FederationLimits.streamsPerKnownZoneMax : FederationLimits.streamsPerZoneMax
      return streams[domain, default: 0] >= FederationLimits.streamsPerDomainMax
        || streamsOfZones[DomainZone.of(domain), default: 0] >= ofZoneMax
    }

    /// Counts one more stream of a domain, or one less.
    mutating func count(_ change: Int, of domain: String) {
      let zone = DomainZone.of(domain)
      let (ofDomain, ofZone) = (streams[domain, default: 0] + change, streamsOfZones[zone, default: 0] + change)
      streams[domain] = ofDomain > 0 ? ofDomain : nil
      streamsOfZones[zone] = ofZone > 0 ? ofZone : nil
    }
  }

  ///
  /// - Parameters:
  ///   - domains: The domains that this server answers for, normalised.
  ///   - secret: The secret of dialback keys. It must survive a restart, since a key may be verified after one.
  init(
    door: DoorContext, mounted: [MountedLoop], domains: Set<String>, secret: [UInt8], idleSeconds: Int,
    trust: any PeerTrust, dialing: any ServerDialing, rules: DomainPolicy, connections: PacedConnections? = nil,
    handshakes: PacedConnections? = nil, memory: MemoryBound = MemoryBound(), all: OpenConnections = OpenConnections()
  ) {
    self.memory = memory
    self.all = all
    self.door = door
    self.connections = connections
    self.handshakes = handshakes
    self.mounted = mounted
    policy = ServerStreamPolicy(
      domains: domains, secret: DialbackSecret(secret),
      limits: StreamLimits(maxBytes: FederationLimits.stanzaBytesMax, idleSeconds: idleSeconds),
      unverifiedBytesMax: FederationLimits.unverifiedStanzaBytesMax, pairsMax: FederationLimits.pairsPerStreamMax)
    self.trust = trust
    self.dialing = dialing
    self.rules = rules
  }

  // MARK: Opening

  func open(
    _ pair: DomainPair, on mounted: MountedLoop, for owner: any FederationStreamOwner,
    failed: @escaping @Sendable (OpenFailure) -> Void
  ) {
    open(pair, on: mounted, for: owner, tried: [], failed: failed)
  }

  private func open(
    _ pair: DomainPair, on mounted: MountedLoop, for owner: any FederationStreamOwner, tried: [ServerTarget],
    failed: @escaping @Sendable (OpenFailure) -> Void
  ) {
    Task {
      do throws(DialFailure) {
        let dialed = try await dialing.dial(pair.remote, on: mounted.loop, excluding: tried)
        start(
          .opening(pair, owner) { [self] end in
            // RFC 6120 3.2.1: another server of the domain may work.
            guard end.isOfTheServer, tried.count + 1 < FederationStreamLimits.serversTriedMax else {
              return failed(OpenFailure(end))
            }
            open(pair, on: mounted, for: owner, tried: tried + [dialed.target]) { failure in
              failed(failure.isFinal || failure.reason.isEmpty ? OpenFailure(end) : failure)
            }
          }, over: dialed, on: mounted)
      } catch {
        failed(OpenFailure(error))
      }
    }
  }

  /// Starts a stream on a connection, which reports its end itself.
  private func start(_ purpose: ServerConnection.Purpose, over dialed: DialedConnection, on mounted: MountedLoop) {
    mounted.loop.execute { [self] in
      all.opened(dialed.channel)
      let network = dialed.channel.remoteAddress.map { ClientAddress.network($0) } ?? dialed.target.name
      let connection = ServerConnection(
        self, loopContext: mounted.loopContext.value, purpose, target: dialed.target,
        peer: dialed.channel.remoteAddress?.description ?? dialed.target.name, network: network)
      let (opened, loop) = (NIOLoopBound(connection, eventLoop: mounted.loop), mounted.loop)
      connection.memory = memory.enter(network) { loop.execute { opened.value.giveMemoryUp() } }
      do {
        let options = dialed.channel.syncOptions
        try options?.setOption(.maxMessagesPerRead, value: 1)
        try options?.setOption(.allocator, value: TLSBuffers.allocator)
        try options?.setOption(.writeBufferWaterMark, value: .init(low: 32 * 1_024, high: 256 * 1_024))
        try dialed.channel.pipeline.syncOperations.addHandler(connection)
      } catch {
        dialed.channel.close(promise: nil)
        connection.abandoned("\(error)")
      }
    }
  }

  /// Forgets all cached names, so that they are looked up again.
  func forgetNames() { dialing.forget() }

  // MARK: Judging

  /// Queues a judgement of a domain (`JudgementTurns`), which is under way until it calls `end`. Returns `false` if too many wait.
  ///
  /// - Parameter network: The network that the stream comes from; `nil` if networks are not distinguished.
  func inTurn(of network: String?, _ domain: String, _ judgement: @escaping JudgementTurns.Judgement) -> Bool {
    // A domain whose users are known here is queued by itself, not with its zone.
    let isKnown = door.parley.isKnown(domain: domain)
    return judgements.run(of: network, isKnown ? domain : DomainZone.of(domain), isKnown: isKnown, judgement)
  }

  /// Returns the judgement of a stream's certificates for a domain, and its proof.
  ///
  /// - Parameter target: The server that this one has connected to; `nil` for a stream that the other opened.
  func judge(
    _ chain: [[UInt8]], of domain: String, at target: ServerTarget?
  ) async -> (judgement: PeerJudgement, proof: PeerProof?, until: Timestamp?) {
    guard rules.admits(domain) else {
      return (.denied(StreamError(.policyViolation, "this server does not communicate with \(domain)")), nil, nil)
    }
    if target == nil {
      let isKnown = door.parley.isKnown(domain: domain)
      if incoming.withLock({ $0.isFull(domain, isKnown: isKnown) }) {
        return (.denied(StreamError(.resourceConstraint, "too many streams of \(domain)")), nil, nil)
      }
    }
    var targets: [ServerTarget] = []
    if let target {
      targets = [target]
    } else {
      do throws(DialFailure) {
        targets = try await dialing.targets(of: domain)
      } catch {
        switch error {
        case .noSuchDomain, .refused: break
        case .unreachable, .timedOut:
          // RFC 7673 3.1: an attacker may suppress TLSA records of the domain.
          let text = "the servers of \(domain) cannot be looked up at the moment"
          return (.denied(StreamError(.remoteConnectionFailed, text)), nil, nil)
        }
      }
    }
    switch await trust.verify(chain, for: domain, targets: targets) {
    case .valid(let proof, let until): return (.certified, proof, until)
    case .invalid(let reason):
      return (.uncertified(reason, mayDialBack: rules.believesDialback(of: domain)), nil, nil)
    }
  }

  /// Verifies a dialback key: by the certificates of the stream on which it arrived (XEP-0344 2.4), otherwise by calling
  /// back, if dialback is accepted.
  ///
  /// - Parameter judged: Called once when the certificates are judged. Its queue slot is then free: during a callback the other
  ///   server may have to judge this one.
  func verify(
    _ request: DialbackRequest, _ chain: [[UInt8]], judged: @Sendable () -> Void
  ) async -> (verdict: DialbackVerdict, proof: PeerProof?) {
    let found = await verified(request, chain, judged)
    switch found.verdict {
    case .valid: door.parley.metrics.dialback.add(.valid)
    case .invalid: door.parley.metrics.dialback.add(.invalid)
    case .error: door.parley.metrics.dialback.add(.error)
    }
    return found
  }

  private func verified(
    _ request: DialbackRequest, _ chain: [[UInt8]], _ judged: @Sendable () -> Void
  ) async -> (verdict: DialbackVerdict, proof: PeerProof?) {
    let (judgement, proof, _) = await judge(chain, of: request.pair.sender, at: nil)
    judged()
    switch judgement {
    case .certified: return (.valid, proof)
    case .denied: return (.error(.policyViolation), nil)
    case .uncertified(_, mayDialBack: false): return (.error(.notAuthorized), nil)
    case .uncertified(_, mayDialBack: true): return (await verifier.verify(request, asking: ask), nil)
    }
  }

  /// Asks the authoritative server of a key (XEP-0220 2.1.2).
  private func ask(_ request: DialbackRequest) async -> DialbackVerdict {
    guard let place = mounted.randomElement() else { return .error(.internalServerError) }
    return await withCheckedContinuation { answer in
      Task {
        do throws(DialFailure) {
          let dialed = try await dialing.dial(request.pair.sender, on: place.loop, excluding: [])
          start(.asking(request) { answer.resume(returning: $0) }, over: dialed, on: place)
        } catch {
          switch error {
          case .noSuchDomain, .refused: answer.resume(returning: .error(.remoteServerNotFound))
          case .unreachable, .timedOut: answer.resume(returning: .error(.remoteServerTimeout))
          }
        }
      }
    }
  }

  // MARK: Streams of others

  func cameIn(from domain: String) {
    incoming.withLock { incoming in
      incoming.count(1, of: domain)
      incoming.accepted(domain)
    }
  }

  func went(_ domain: String) {
    incoming.withLock { $0.count(-1, of: domain) }
  }

  /// Notes for the operator why a stream of a domain was refused, and logs it; beyond the pace of `FederationStreamLimits` at the
  /// level `debug`.
  ///
  /// - Parameters:
  ///   - network: The network that the stream came from; `nil` if networks are not distinguished, and the zone of the domain counts.
  ///   - peer: The address that it came from.
  func refused(_ domain: String, of network: String?, peer: String, reason: String) {
    let network = network ?? DomainZone.of(domain)
    let unlogged = incoming.withLock { incoming in
      incoming.refused(domain, of: network, reason: reason)
      return incoming.pace.note(network, now: .now)
    }
    let message: Logger.Message = "a stream of another server was refused"
    var metadata: Logger.Metadata = ["domain": "\(domain)", "peer": "\(peer)", "reason": "\(reason)"]
    guard let unlogged else { return door.logger.debug(message, metadata: metadata) }
    if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
    door.logger.info(message, metadata: metadata)
  }

  /// Returns the reason why the last stream that a domain opened was refused; `nil` if it was not.
  func lastRefusal(of domain: String) -> String? {
    incoming.withLock { $0.lastRefusal(of: domain) }
  }
}

extension StreamEnd {
  /// Whether another server of the same domain may succeed.
  fileprivate var isOfTheServer: Bool {
    switch self {
    case .lost, .unsecured: true
    case .refused, .failed, .unauthenticated, .undialled, .closed: false
    }
  }
}

extension OpenFailure {
  init(_ failure: DialFailure) {
    switch failure {
    case .noSuchDomain(let isAuthentic):
      self.init(isFinal: isAuthentic, isFinalIfRepeated: !isAuthentic, reason: "there is no such domain")
    case .refused: self.init(isFinal: true, reason: "the domain has no XMPP server")
    case .unreachable(let reasons):
      self.init(isFinal: false, reason: reasons.isEmpty ? "no server was reached" : reasons.joined(separator: "; "))
    case .timedOut(let reasons):
      self.init(isFinal: false, reason: (["the connection took too long"] + reasons).joined(separator: "; "))
    }
  }

  init(_ end: StreamEnd) {
    switch end {
    case .failed(let error):
      let isFinal = error.condition == .hostUnknown || error.condition == .hostGone
      self.init(
        isFinal: isFinal, reason: "the server said \(error.condition.text)" + (error.text.map { ": \($0)" } ?? ""))
    case .refused(let error): self.init(isFinal: false, reason: error.text ?? "\(error.condition.text)")
    case .unauthenticated(let failure):
      self.init(
        isFinal: false,
        reason: "the server refused our certificate: \(failure.condition.text)"
          + (failure.text.map { " (\($0))" } ?? ""))
    case .undialled(.error(let condition)):
      self.init(isFinal: condition == .itemNotFound, reason: "the server refused our dialback key: \(condition.text)")
    case .undialled: self.init(isFinal: false, reason: "the server refused our dialback key as invalid")
    case .unsecured(let reason): self.init(isFinal: false, reason: "TLS failed: \(reason)")
    case .closed: self.init(isFinal: false, reason: "the server closed the stream before it was verified")
    case .lost(let reason): self.init(isFinal: false, reason: reason)
    }
  }
}
