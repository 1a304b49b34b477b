import Addresses
public import Basics
import DNS
public import NIOCore
import NIOPosix

/// The check of whether clients can find, reach and verify a local domain: records in the DNS, the ports that they name,
/// and the certificate that is presented there. It connects as a client would, from this machine.
///
///     let check = ReachabilityCheck(options, on: loops, clock: clock) { chain, name in … }
///     let steps = await check.xmpp(of: "example.org", ports: ports)
public struct ReachabilityCheck: Sendable {
  /// Judges a chain for a name, as a client with the same authorities would. The remedy is the advice to this server's
  /// operator about an invalid chain, as a clause; `nil` for a valid one.
  public typealias Judge = @Sendable ([[UInt8]], String) async -> (verdict: PeerVerdict, remedy: String?)

  public enum Result: String, Codable, Sendable {
    case pass, warn, fail
  }

  public struct Step: Codable, Hashable, Sendable {
    /// The name of the step, such as `dns`, `connect host.example.org:5223`, `tls host.example.org:5223`.
    public let step: String
    public let result: Result
    /// The finding and the advice.
    public let text: String

    public init(_ step: String, _ result: Result, _ text: String, advice: String? = nil) {
      self.step = step
      self.result = result
      self.text = advice.map { "\(text); \($0)" } ?? text
    }
  }

  private let resolver: any DNSResolver
  private let loop: any EventLoop
  private let clock: any Clock
  private let judge: Judge

  /// - Parameter options: The name servers to use.
  public init(
    _ options: FederationOptions, on group: any EventLoopGroup, clock: any Clock, judge: @escaping Judge
  ) {
    resolver = options.resolver(group)
    loop = group.next()
    self.clock = clock
    self.judge = judge
  }

  // MARK: XMPP

  /// Returns the steps of an XMPP client (RFC 6120 3.2, XEP-0368).
  ///
  /// - Parameter ports: The ports that this server listens on, with STARTTLS and with direct TLS; 0 for none.
  public func xmpp(of domain: String, ports: (startTLS: Int, directTLS: Int)) async -> [Step] {
    let ascii = AsciiDomain.of(domain)
    guard let name = DomainName(ascii), IPAddress(ascii) == nil, let direct = name.below("_xmpps-client", "_tcp"),
      let upgraded = name.below("_xmpp-client", "_tcp")
    else { return [Step("dns", .fail, "the domain is no name of the DNS")] }
    let records = [("_xmpps-client", ports.directTLS), ("_xmpp-client", ports.startTLS)].filter { $0.1 != 0 }.map {
      "\($0.0)._tcp.\(ascii). SRV 10 10 \($0.1) HOST."
    }
    let advice = "publish \(records.joined(separator: " and ")), HOST being the name of this machine"
    let found: Services
    do throws(LookupFailure) {
      found = Services(
        direct: try await resolver.lookUp(direct, .srv), upgraded: try await resolver.lookUp(upgraded, .srv))
    } catch {
      return [Step("dns", .fail, error.description, advice: "see the name servers of the domain")]
    }
    var steps: [Step] = []
    var targets: [(host: DomainName, port: Int, isDirectTLS: Bool)] = []
    switch found {
    case .notAvailable: return [Step("dns", .fail, "its records say that it has no server for clients", advice: advice)]
    case .unspecified:
      steps.append(
        Step(
          "dns", .warn, "there are no records of servers for clients, which then try port 5222 of the domain itself",
          advice: advice))
      targets = [(name, 5222, false)]
    case .servers(let servers):
      targets = servers.map { ($0.record.target, Int($0.record.port), $0.isDirectTLS) }
      let names = targets.map { "\($0.host):\($0.port) (\($0.isDirectTLS ? "direct TLS" : "STARTTLS"))" }
      steps.append(Step("dns", .pass, names.joined(separator: ", ")))
    }
    for target in targets.prefix(PeerLimits.serversMax) {
      let key = target.isDirectTLS ? "xmpp.tls_port" : "xmpp.port"
      steps += await reach(
        target.host, target.port, as: .client, isDirectTLS: target.isDirectTLS, name: domain,
        advice: "does the server run with \(key) \(target.port), and does the firewall let that port through?")
    }
    return steps
  }

  // MARK: Others

  /// Returns the steps of an HTTPS client.
  public func web(_ host: String, port: Int) async -> [Step] {
    guard let name = DomainName(AsciiDomain.of(host)), IPAddress(host) == nil else {
      return [
        Step("dns", .warn, "\(host) is no name of the DNS", advice: "set http.url to one that clients can verify")
      ]
    }
    return await reach(
      name, port, as: .web, isDirectTLS: true, name: host,
      advice: "is http.url what clients use, and does the firewall let port \(port) through?")
  }

  /// Returns the steps to a port for which a connection is enough.
  public func plain(_ host: String, _ addresses: [IPAddress], port: Int, advice: String) async -> [Step] {
    var steps: [Step] = []
    for address in addresses {
      let (step, channel) = await connect(address, host, port, advice: advice)
      channel?.close(promise: nil)
      steps.append(step)
    }
    return steps
  }

  /// Returns the addresses of a host, which may itself be an address; or the step that fails.
  public func addresses(of host: String) async -> Addresses {
    if let address = IPAddress(host) { return .success([address]) }
    guard let name = DomainName(AsciiDomain.of(host)) else {
      return .failure(Step("dns \(host)", .fail, "it is no name of the DNS"))
    }
    return await addresses(of: name)
  }

  // MARK: Steps

  public enum Addresses: Sendable {
    case success([IPAddress])
    case failure(Step)
  }

  private func addresses(of name: DomainName) async -> Addresses {
    do throws(LookupFailure) {
      let four = try await resolver.lookUp(name, .a)
      let six = try await resolver.lookUp(name, .aaaa)
      let all = four.addresses + six.addresses
      if !all.isEmpty { return .success(Array(all.prefix(2 * PeerLimits.addressesMax))) }
      return .failure(
        Step(
          "dns \(name)", .fail, "it has no address in the DNS (/etc/hosts is not read)",
          advice: "add an A or AAAA record with that of this machine"))
    } catch {
      return .failure(Step("dns \(name)", .fail, error.description, advice: "see the name servers of the domain"))
    }
  }

  private func reach(
    _ host: DomainName, _ port: Int, as role: PresentedChain.Role, isDirectTLS: Bool, name: String, advice: String
  ) async -> [Step] {
    let all: [IPAddress]
    switch await addresses(of: host) {
    case .failure(let step): return [step]
    case .success(let addresses): all = addresses
    }
    var steps: [Step] = []
    for address in all {
      let (step, channel) = await connect(address, host.description, port, advice: advice)
      steps.append(step)
      if let channel {
        steps.append(await secure(channel, "tls \(host):\(port)", as: role, isDirectTLS: isDirectTLS, name: name))
      }
    }
    return steps
  }

  private func connect(
    _ address: IPAddress, _ host: String, _ port: Int, advice: String
  ) async -> (step: Step, channel: (any Channel)?) {
    let name = "connect \(host):\(port)"
    do {
      let channel = try await ClientBootstrap(group: loop).connectTimeout(.seconds(5))
        .channelOption(.autoRead, value: false)
        .connect(to: SocketAddress(ipAddress: "\(address)", port: port)).get()
      return (Step(name, .pass, "connected to \(address)"), channel)
    } catch let error as IOError where error.errnoCode == ENETUNREACH || error.errnoCode == EADDRNOTAVAIL {
      return (Step(name, .warn, "\(address) cannot be tried: this machine has no way to such addresses"), nil)
    } catch {
      return (Step(name, .fail, "\(address): \(Dialer.reason(error))", advice: advice), nil)
    }
  }

  private func secure(
    _ channel: any Channel, _ step: String, as role: PresentedChain.Role, isDirectTLS: Bool, name: String
  ) async -> Step {
    do {
      let chain = try await PresentedChain.ask(channel, as: role, isDirectTLS: isDirectTLS, for: name)
      let judgement = await judge(chain, name)
      switch judgement.verdict {
      case .invalid(let reason): return Step(step, .fail, reason, advice: judgement.remedy)
      case .valid(_, let until):
        let isLate = until < clock.now + OwnDomainCheck.renewal
        return Step(
          step, isLate ? .warn : .pass, "the certificate is valid for \(name) until \(until)",
          advice: isLate ? "renew it" : nil)
      }
    } catch let failure as PresentedChain.Failure {
      return Step(step, .fail, failure.text, advice: "is it Parley that listens there?")
    } catch {
      return Step(step, .fail, "\(error)")
    }
  }
}
