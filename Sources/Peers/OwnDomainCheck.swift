import Addresses
public import Basics
import DNS
public import NIOCore

/// The check of whether other servers can communicate with a local domain: its records in the DNS, the ports that they
/// name, the certificate that is presented there, and the one in the files. It connects as another server would, from
/// this machine.
///
///     let check = OwnDomainCheck(options, addresses: addresses, on: loops, clock: clock) { chain, domain, targets in … }
///     let steps = await check.steps(of: "conference.example.org", chain: chain)
public struct OwnDomainCheck: Sendable {
  /// Judges a chain for a domain as another server with the same authorities would.
  public typealias Judge = @Sendable ([[UInt8]], String, [ServerTarget]) async -> PeerVerdict

  /// The time before a certificate's expiry at which a missing renewal counts as a fault, which leaves the operator time to
  /// find the cause.
  static let renewal: Duration = .seconds(7 * 86_400)

  private let options: FederationOptions
  private let resolver: any DNSResolver
  private let addresses: PublicAddresses
  private let lookUp: ServerLookUp
  private let dialer: Dialer
  private let loop: any EventLoop
  private let clock: any Clock
  private let dateRemedy: @Sendable ([[UInt8]]) -> String?
  private let judge: Judge

  /// - Parameters:
  ///   - addresses: The addresses to which other servers connect.
  ///   - dateRemedy: Returns the advice about a chain whose first certificate is not valid now; nil for any other chain.
  public init(
    _ options: FederationOptions, addresses: PublicAddresses, on group: any EventLoopGroup, clock: any Clock,
    dateRemedy: @escaping @Sendable ([[UInt8]]) -> String?, judge: @escaping Judge
  ) {
    let resolver = options.resolver(group)
    self.options = options
    self.resolver = resolver
    self.addresses = addresses
    lookUp = ServerLookUp(resolver: resolver, routes: [:])
    dialer = Dialer(resolver: resolver, addresses: addresses)
    loop = group.next()
    self.clock = clock
    self.dateRemedy = dateRemedy
    self.judge = judge
  }

  /// Returns the steps in which another server finds, reaches and verifies a domain.
  ///
  /// - Parameter chain: The certificates in DER that this server presents for the domain; empty for a self-signed one.
  public func steps(of domain: String, chain: [[UInt8]]) async -> [FederationTestStep] {
    let (found, targets, failure) = await FederationTestStep.dns { () throws(DialFailure) in
      try await lookUp.existingTargets(of: domain)
    }
    var steps = [found.advising(failure.map { Self.remedy(for: $0, records: records(of: domain)) })]
    for target in targets { steps += await reach(target, of: domain, among: targets, chain) }
    steps.append(await certificate(chain, of: domain, targets))
    for target in targets where !target.tlsa.isEmpty { steps.append(await pin(chain, of: domain, target)) }
    return steps
  }

  /// The advice to an operator whose domain has no servers in the DNS.
  private func records(of domain: String) -> String {
    let port = options.port == 0 ? PeerLimits.port : options.port
    return "add a record: _xmpp-server._tcp.\(domain). SRV 10 10 \(port) HOST., HOST being the name of this machine"
  }

  /// Returns the advice to an operator whose domain was not found: the records to add if it has none. If the look-up failed there
  /// is no such advice, since the operator might add existing records again.
  static func remedy(for failure: DialFailure, records: String) -> String {
    switch failure {
    case .noSuchDomain, .refused: records
    case .unreachable, .timedOut: "see the name servers of the domain, and those of this machine"
    }
  }

  private func reach(
    _ target: ServerTarget, of domain: String, among all: [ServerTarget], _ chain: [[UInt8]]
  ) async -> [FederationTestStep] {
    let step = "connect \(target.name):\(target.port)"
    do throws(DialFailure) {
      let connection = try await dialer.dial(
        domain, on: loop, excluding: all.filter { !$0.isSameServer(as: target) })
      let address = connection.channel.remoteAddress?.ipAddress
      return [
        FederationTestStep(step: step, hasPassed: true, text: "connected to \(address ?? target.name)"),
        await secure(connection, of: domain, chain),
      ]
    } catch {
      let advice = await advice(on: error, at: target, of: domain)
      return [FederationTestStep(step: step, hasPassed: false, text: error.text).advising(advice)]
    }
  }

  /// Returns the advice to an operator whose server cannot be connected to.
  private func advice(on failure: DialFailure, at target: ServerTarget, of domain: String) async -> String {
    if case .noSuchDomain = failure { return records(of: domain) }
    var found: [IPAddress] = []
    if let name = DomainName(target.name) {
      for type in [RecordType.a, .aaaa] { found += (try? await resolver.lookUp(name, type))?.addresses ?? [] }
    }
    if !found.isEmpty, !found.contains(where: { addresses.allows($0) }) {
      return
        "other servers connect to public addresses only: publish that of this machine in the DNS; within a private network "
        + "outgoing.networks of each of its servers names the network"
    }
    let key = target.isDirectTLS ? "federation.tls_port" : "federation.port"
    return "is the server running with \(key) \(target.port), and does the firewall let that port through?"
  }

  /// Begins TLS, and judges the presented certificate: a server that has not loaded a new certificate presents the old one,
  /// and a proxy in front of the server may present its own.
  private func secure(
    _ connection: DialedConnection, of domain: String, _ chain: [[UInt8]]
  ) async -> FederationTestStep {
    let target = connection.target
    func step(_ hasPassed: Bool, _ text: String) -> FederationTestStep {
      FederationTestStep(step: "tls \(target.name):\(target.port)", hasPassed: hasPassed, text: text)
    }
    do {
      let presented = try await PresentedChain.ask(connection, for: domain)
      switch await judge(presented, domain, [target]) {
      case .valid(let proof, _): return step(true, "the certificate is valid by \(proof.rawValue)")
      case .invalid(let reason):
        let advice =
          presented.first == chain.first
          ? nil : "it is not the one in tls.certificate: send the server SIGHUP, or see what else listens there"
        return step(false, reason).advising(advice)
      }
    } catch let failure as PresentedChain.Failure {
      return step(false, failure.text).advising("is it Parley that listens there, and not a proxy for the web?")
    } catch {
      return step(false, "\(error)")
    }
  }

  private func certificate(
    _ chain: [[UInt8]], of domain: String, _ targets: [ServerTarget]
  ) async -> FederationTestStep {
    func step(_ hasPassed: Bool, _ text: String) -> FederationTestStep {
      FederationTestStep(step: "certificate", hasPassed: hasPassed, text: text)
    }
    let advice = dateRemedy(chain) ?? Self.advice(on: domain, isAlone: chain.count == 1)
    if chain.isEmpty { return step(false, "it is self-signed").advising(advice) }
    var verdict = await judge(chain, domain, [])
    var note = ""
    if case .invalid = verdict, let pinned = targets.first, !pinned.tlsa.isEmpty {
      let byDANE = await judge(chain, domain, [pinned])
      if case .valid = byDANE { (verdict, note) = (byDANE, ", which servers that do not know DANE do not accept") }
    }
    switch verdict {
    case .invalid(let reason): return step(false, reason).advising(advice)
    case .valid(let proof, let until):
      // RFC 7671 5.1: the dates of some certificates do not count.
      if until == .latest { return step(true, "valid by \(proof.rawValue)\(note)") }
      let isLate = until < clock.now + Self.renewal
      return step(!isLate, "valid by \(proof.rawValue) until \(until)\(note)").advising(isLate ? "renew it" : nil)
    }
  }

  /// Returns the advice to an operator whose certificate other servers do not accept.
  ///
  /// - Parameter isAlone: Whether the certificate is without a chain.
  static func advice(on domain: String, isAlone: Bool) -> String {
    let chain =
      isAlone
      ? "where an authority issued it, tls.certificate needs its chain as well (often called fullchain.pem); else " : ""
    return chain
      + "get one that names \(domain) from an authority that other servers know, and set tls.certificate and tls.key; an "
      + "authority of your own is known to the servers whose federation.authorities has its file, so set that here and there"
  }

  /// Compares a server's TLSA records with the certificate: servers that use DANE accept no other (RFC 7673 4.2).
  private func pin(_ chain: [[UInt8]], of domain: String, _ target: ServerTarget) async -> FederationTestStep {
    let name = "tlsa _\(target.port)._tcp.\(target.name)"
    switch await judge(chain, domain, [target]) {
    case .valid: return FederationTestStep(step: name, hasPassed: true, text: "a record fits the certificate")
    case .invalid(let reason):
      return FederationTestStep(step: name, hasPassed: false, text: reason).advising(
        "publish a record for the key in use, or remove the records")
    }
  }
}

extension FederationTestStep {
  /// Returns the step that looks up the servers of a domain, with these servers or the failure.
  package static func dns(
    _ lookUp: () async throws(DialFailure) -> [ServerTarget]
  ) async -> (step: FederationTestStep, targets: [ServerTarget], failure: DialFailure?) {
    do throws(DialFailure) {
      let targets = try await lookUp()
      if targets.isEmpty { throw .refused }
      let names = targets.map { target in
        let notes = [target.isDirectTLS ? "direct TLS" : "STARTTLS"] + (target.isSecure ? ["DNSSEC"] : [])
        return
          "\(target.name):\(target.port) (\((notes + (target.tlsa.isEmpty ? [] : ["DANE"])).joined(separator: ", ")))"
      }
      return (FederationTestStep(step: "dns", hasPassed: true, text: names.joined(separator: ", ")), targets, nil)
    } catch {
      return (FederationTestStep(step: "dns", hasPassed: false, text: error.text), [], error)
    }
  }

  /// Returns the step with the advice added.
  fileprivate func advising(_ advice: String?) -> FederationTestStep {
    advice.map { FederationTestStep(step: step, hasPassed: hasPassed, text: "\(text); \($0)") } ?? self
  }
}

extension DialFailure {
  /// The failure as a clause for operators.
  fileprivate var text: String {
    switch self {
    case .noSuchDomain: "the DNS has neither servers nor addresses of it"
    case .refused: "its records say that it has no server"
    case .unreachable(let reasons), .timedOut(let reasons):
      reasons.isEmpty ? "no answer in time" : reasons.joined(separator: ", ")
    }
  }
}
