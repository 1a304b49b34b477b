import Addresses
import Basics
public import Dialogs
import NIOCore
public import Peers
public import ServerMetrics
import XMLStream
import XMPP

/// The view and the actions of operators.
extension Federation: FederationControl {
  /// Returns the verified streams, each counted once, and the number of residents.
  public func population() async -> (streams: [Both<StreamDirection, PeerVerification>: Int], residents: Int) {
    var streams: [Both<StreamDirection, PeerVerification>: Int] = [:]
    var residents = 0
    for place in mounted {
      let links = existing().filter { $0.mounted.loop === place.loop }
      let found = try? await place.loop.submit {
        (
          streams: place.loopContext.value.allServers.filter(\.isVerified).map(\.status),
          residents: links.reduce(0) { $0 + ($1.driver.work?.residents.count ?? 0) }
        )
      }.get()
      residents += found?.residents ?? 0
      for stream in found?.streams ?? [] { streams[Both(stream), default: 0] += 1 }
    }
    return (streams, residents)
  }

  public func links() async -> [FederationLinkStatus] {
    let waiting = (try? await door.parley.read { try $0.outboxPairs() }) ?? []
    let pairs = Dictionary(waiting.map { ($0.pair, $0) }, uniquingKeysWith: { first, _ in first })
    var all: [FederationLinkStatus] = []
    for link in existing() {
      let life = await link.ask { $0.life }
      var streams: [FederationLinkStatus.Stream] = []
      for handle in life.streams {
        if let status = try? await handle.loop.submit({ handle.stream?.status }).get() { streams.append(status) }
      }
      let known = pairs[link.pair]
      all.append(
        FederationLinkStatus(
          local: link.pair.local, remote: link.pair.remote, state: life.state, streams: streams,
          waiting: known?.rows ?? 0,
          waitingSince: known.map { $0.expiresAt + .seconds(-options.giveUpSeconds) }, failures: life.failures,
          reason: life.reason, next: life.next))
    }
    return all
  }

  public func domain(_ domain: String) async -> FederationDomainStatus {
    let pairs = (try? await door.parley.read { try $0.outboxPairs() }) ?? []
    let known = pairs.filter { $0.pair.remote == domain }
    let links = await links().filter { $0.remote == domain }
    return FederationDomainStatus(
      domain: domain, isAllowed: refusal(of: domain, from: "") == nil,
      verifiedAt: policy.certifiedAt(domain), verified: links.flatMap(\.streams).first?.verified,
      refusal: links.compactMap(\.reason).first ?? servers.lastRefusal(of: domain) ?? known.compactMap(\.reason).first)
  }

  public func close(_ domain: String) async -> Int {
    var count = 0
    for link in existing() where link.pair.remote == domain { count += await link.ask { $0.close(nil) } }
    return count
  }

  public func retry(_ domain: String) async -> Int {
    // The operator may have corrected the domain's records.
    servers.forgetNames()
    var count = 0
    for link in existing() where link.pair.remote == domain {
      if await link.ask({ $0.retry() }) { count += 1 }
    }
    return count
  }

  public func test(_ domain: String, from local: String) async -> [FederationTestStep] {
    let pair = DomainPair(local: local, remote: domain)
    guard let link = link(of: pair), let address = JID(parsing: domain) else {
      return [FederationTestStep(step: "stream", hasPassed: false, text: "\(local) may not communicate with it")]
    }
    var steps: [FederationTestStep] = []
    if !isServed(domain) {
      let found = await FederationTestStep.dns { () throws(DialFailure) in
        try await servers.dialing.existingTargets(of: domain)
      }
      steps.append(found.step)
      guard found.step.hasPassed else { return steps }
    }
    let stream = await StreamTest.run { open(link.pair, on: link.mounted, for: $0, failed: $1) }
    steps.append(stream)
    guard stream.hasPassed else { return steps }
    // The answer may arrive over another stream, so the link sends the ping.
    let asker = Party(id: UserID(0), realm: link.home.id, address: link.localAddress)
    let answer = await door.questions.ask(
      .get, StanzaBytes.bytes { $0.element(.ping) }, of: address, from: asker, within: PeerLimits.testAnswer,
      door.parley.hub)
    let text = answer == nil ? "it does not answer in time" : "it answers"
    return steps + [FederationTestStep(step: "ping", hasPassed: answer != nil, text: text)]
  }

  public func rulesChanged() async throws(Problem) {
    let stored = try await door.parley.read { try $0.federationRules() }
    var runtime: [DomainPattern: Bool] = [:]
    for rule in stored { if let pattern = DomainPattern(rule.domain) { runtime[pattern] = rule.isAllowed } }
    change { $0.runtime = runtime }
  }

  /// Replaces the rules of the configuration.
  public func reload(_ rules: DomainRules) {
    change { current in
      let runtime = current.runtime
      current = rules
      current.runtime = runtime
    }
  }
}

extension Both<StreamDirection, PeerVerification> {
  fileprivate init(_ stream: FederationLinkStatus.Stream) {
    let direction: StreamDirection =
      switch stream.direction {
      case .incoming: .incoming
      case .outgoing: .outgoing
      case .both: .both
      }
    self.init(direction, PeerVerification.allCases.first { $0.values == [stream.verified] } ?? .dialback)
  }
}
