package import Basics
package import DNS
import HTTPPort
package import NIOCore
import NIOPosix

/// Connects servers of other domains: finds their hosts, and tries their addresses in the order of `ConnectionRace`.
///
///     let connection = try await dialer.dial("example.org", on: loop)
package final class Dialer: Sendable {
  private let lookUp: ServerLookUp
  private let addresses: PublicAddresses

  /// - Parameters:
  ///   - routes: The servers that the operator named, by domain, in place of the DNS.
  ///   - addresses: The addresses to which the DNS may lead, since others write it.
  package init(resolver: any DNSResolver, routes: [String: ServerTarget] = [:], addresses: PublicAddresses) {
    lookUp = ServerLookUp(resolver: resolver, routes: routes)
    self.addresses = addresses
  }

  /// Uses the name servers and the routes of the configuration.
  package convenience init(_ options: FederationOptions, addresses: PublicAddresses, on group: any EventLoopGroup) {
    let routes = options.routes.map {
      ($0.domain, ServerTarget(name: $0.host, port: $0.port, isDirectTLS: $0.isDirectTLS))
    }
    self.init(
      resolver: options.resolver(group), routes: Dictionary(routes, uniquingKeysWith: { first, _ in first }),
      addresses: addresses)
  }

  /// Connects to a server of a domain.
  ///
  /// - Parameter excluded: Servers that are skipped, since the stream to them has failed (RFC 6120 3.2.1). If no other is
  ///   left, the domain is `unreachable` without reasons.
  package func dial(
    _ domain: String, on loop: any EventLoop, excluding excluded: [ServerTarget] = []
  ) async throws(DialFailure) -> DialedConnection {
    let dial = Dial(lookUp, addresses, on: loop)
    do {
      return try await withTaskCancellationHandler {
        try await dial.run(domain, excluding: excluded).get()
      } onCancel: {
        dial.cancel()
      }
    } catch {
      throw error as? DialFailure ?? .timedOut(reasons: [])
    }
  }

  /// Returns all servers of a domain with their TLSA records, for streams from it. A failed look-up does not prove that
  /// there are no records (RFC 7673 3.1): it throws, as the stream cannot be judged now.
  package func targets(of domain: String) async throws(DialFailure) -> [ServerTarget] {
    try await lookUp.targets(of: domain)
  }

  /// Returns the servers of a domain for the operator's check of whether it can be reached (`ServerLookUp.existingTargets`).
  package func existingTargets(of domain: String) async throws(DialFailure) -> [ServerTarget] {
    try await lookUp.existingTargets(of: domain)
  }

  /// The reason why a connection was not opened, as a clause.
  static func reason(_ error: any Error) -> String { Dial.reason(error) }

  /// Forgets all cached names, for an operator who has changed records.
  package func forget() { lookUp.resolver.forget() }
}

/// One call of `dial`, on its loop.
private final class Dial: Sendable {
  private struct State {
    var race = ConnectionRace([])
    var candidates: [ServerLookUp.Candidate] = []
    var isItself = false
    var reasons: [String] = []
    /// The number of address families for which a domain without SRV records has no addresses.
    var absent = 0
    var isAbsenceAuthentic = true
    var connecting: [Int: any Channel] = [:]
    var timer: Scheduled<Void>?
    var isOver = false
  }

  private let lookUp: ServerLookUp
  private let addresses: PublicAddresses
  private let loop: any EventLoop
  private let end: EventLoopPromise<DialedConnection>
  private let state: NIOLoopBoundBox<State>

  init(_ lookUp: ServerLookUp, _ addresses: PublicAddresses, on loop: any EventLoop) {
    self.lookUp = lookUp
    self.addresses = addresses
    self.loop = loop
    end = loop.makePromise(of: DialedConnection.self)
    state = .makeBoxSendingValue(State(), eventLoop: loop)
  }

  func run(_ domain: String, excluding excluded: [ServerTarget]) -> EventLoopFuture<DialedConnection> {
    let deadline = loop.scheduleTask(in: PeerLimits.connecting) { [self] in
      finish(.failure(.timedOut(reasons: state.value.reasons)))
    }
    end.futureResult.whenComplete { _ in deadline.cancel() }
    Task {
      do throws(DialFailure) {
        let found = try await lookUp.servers(of: domain)
        loop.execute { [self] in start(found, excluded) }
      } catch {
        loop.execute { [self] in finish(.failure(error)) }
      }
    }
    return end.futureResult
  }

  func cancel() { loop.execute { [self] in finish(.failure(.timedOut(reasons: ["it was cancelled"]))) } }

  private func start(_ found: ServerLookUp.Found, _ excluded: [ServerTarget]) {
    switch found {
    case .servers(let servers): state.value.candidates = servers
    case .itself(let server):
      state.value.candidates = [server]
      state.value.isItself = true
    }
    state.value.candidates.removeAll { candidate in
      excluded.contains { $0.isSameServer(as: candidate.target) }
    }
    state.value.race = ConnectionRace(
      state.value.candidates.map { .init(priority: $0.priority, isSecure: $0.target.isSecure) })
    handle(.began)
  }

  private func finish(_ result: Result<DialedConnection, DialFailure>) {
    guard !state.value.isOver else { return }
    state.value.isOver = true
    state.value.timer?.cancel()
    for channel in state.value.connecting.values { channel.close(promise: nil) }
    state.value.connecting = [:]
    end.completeWith(result.mapError { $0 })
  }

  // MARK: The race

  private func handle(_ event: ConnectionRace.Event) {
    guard !state.value.isOver else { return }
    state.value.timer?.cancel()
    state.value.timer = nil
    for action in state.value.race.handle(event, at: .now()) {
      switch action {
      case .lookUp(let server): find(server)
      case .connect(let attempt, let server, let address): connect(attempt, server, address)
      case .wait(let time):
        state.value.timer = loop.scheduleTask(deadline: time) { [self] in handle(.due) }
      case .giveUp: giveUp()
      }
    }
  }

  private func giveUp() {
    let now = state.value
    if now.isItself, now.absent == 2 {
      finish(.failure(.noSuchDomain(isAuthentic: now.isAbsenceAuthentic)))
    } else {
      finish(.failure(.unreachable(reasons: now.reasons)))
    }
  }

  private func find(_ index: Int) {
    let candidate = state.value.candidates[index]
    guard case .name(let name) = candidate.host else {
      if case .address(let address) = candidate.host {
        // Events must not be nested.
        loop.execute { [self] in
          handle(.found(server: index, isIPv6: !address.isIPv6, [], isSecure: false))
          handle(.found(server: index, isIPv6: address.isIPv6, [address], isSecure: false))
        }
      }
      return
    }
    for type in [RecordType.aaaa, .a] {
      Task {
        let result: Result<Answer, LookupFailure>
        do throws(LookupFailure) { result = .success(try await lookUp.resolver.lookUp(name, type)) } catch {
          result = .failure(error)
        }
        loop.execute { [self] in found(result, type, of: index) }
      }
    }
    guard candidate.target.isSecure else { return }
    Task {
      do throws(LookupFailure) {
        let records = try await lookUp.tlsa(of: candidate.target)
        loop.execute { [self] in handle(.certified(server: index, records)) }
      } catch {
        loop.execute { [self] in
          note("\(candidate.target.name): its TLSA records cannot be had: \(error)")
          handle(.uncertified(server: index))
        }
      }
    }
  }

  private func found(_ result: Result<Answer, LookupFailure>, _ type: RecordType, of index: Int) {
    let candidate = state.value.candidates[index]
    var allowed: [IPAddress] = []
    var isSecure = false
    switch result {
    case .failure(let failure): note("\(candidate.target.name): \(failure)")
    case .success(let answer):
      isSecure = answer.isSecure
      if answer.outcome != .found {
        state.value.absent += 1
        state.value.isAbsenceAuthentic = state.value.isAbsenceAuthentic && isSecure
        note("\(candidate.target.name) has no \(type == .aaaa ? "IPv6" : "IPv4") address")
      }
      for address in answer.addresses {
        if candidate.isRoute || addresses.allows(address) {
          allowed.append(address)
        } else {
          note("\(candidate.target.name): \(address) is not public")
        }
      }
    }
    handle(.found(server: index, isIPv6: type == .aaaa, allowed, isSecure: isSecure))
  }

  private func note(_ reason: String) { state.value.reasons.append(reason) }

  // MARK: Connecting

  private func connect(_ attempt: Int, _ index: Int, _ address: IPAddress) {
    let target = state.value.candidates[index].target
    guard let remote = try? SocketAddress(ipAddress: address.description, port: target.port) else { return }
    ClientBootstrap(group: loop)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.unsentBytes, value: UnsentBytes.most)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.userTimeout, value: PeerLimits.transmission)
      .channelOption(.autoRead, value: false)
      .channelOption(.recvAllocator, value: ReadBuffers())
      // The deadline of the whole call ends earlier; the race tries other addresses meanwhile.
      .connectTimeout(PeerLimits.connecting)
      .channelInitializer { [self] channel in
        if state.value.isOver {
          return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        state.value.connecting[attempt] = channel
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .connect(to: remote)
      .hop(to: loop)
      .whenComplete { [self] result in
        state.value.connecting[attempt] = nil
        switch result {
        case .success(let channel):
          guard !state.value.isOver else { return channel.close(promise: nil) }
          finish(
            .success(
              DialedConnection(channel: channel, target: target.with(tlsa: state.value.race.tlsa(of: index)))))
        case .failure(let error):
          guard !state.value.isOver else { return }
          note("\(target.name) at \(address) port \(target.port): \(Self.reason(error))")
          handle(.failed(attempt: attempt))
        }
      }
  }

  fileprivate static func reason(_ error: any Error) -> String {
    switch error {
    case let error as IOError: Files.reason(error.errnoCode)
    case ChannelError.connectTimeout: "no answer"
    default: "\(error)"
    }
  }
}
