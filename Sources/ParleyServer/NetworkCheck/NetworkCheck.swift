import Addresses
import Basics
import Dialogs
import Logging
import NIOCore
import NIOPosix
public import Peers
import ServerCertificates
public import ServerConfiguration
import WebClient

/// `parley check --network`: whether users reach this server, seen from this machine, and what the machine gives it.
public enum NetworkCheck {
  public struct Row: Codable, Hashable, Sendable {
    /// The domain, the URL, the relay, or `machine`.
    public let subject: String
    public let step: String
    public let result: ReachabilityCheck.Result
    /// The finding, and what to do about it.
    public let text: String

    fileprivate init(_ subject: String, _ step: ReachabilityCheck.Step) {
      (self.subject, self.step, result, text) = (subject, step.step, step.result, step.text)
    }

    fileprivate init(_ row: FederationCheck.Row) {
      subject = row.domain
      step = "federation: \(row.step)"
      result =
        switch row.result {
        case .pass: .pass
        case .warn: .warn
        case .fail: .fail
        }
      text = row.text
    }
  }

  /// - Throws: If files cannot be read.
  public static func rows(_ settings: Settings) async throws -> [Row] {
    var rows = await MachineCheck.steps(settings).map { Row("machine", $0) }
    let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let judge = try PeerJudge(besides: settings.outgoing.authorities, clock: SystemClock())
    let check = ReachabilityCheck(settings.federation ?? FederationOptions(), on: loops, clock: SystemClock()) {
      await judge.verify(own: $0, for: $1)
    }
    for domain in settings.domains {
      if settings.xmpp.isOn || settings.xmppTLS.isOn {
        let steps = await check.xmpp(of: domain.name, ports: (settings.xmpp.port, settings.xmppTLS.port))
        rows += steps.map { Row(domain.name, $0) }
      }
    }
    if let (host, port) = httpsURL(settings.pages) {
      rows += await check.web(host, port: port).map { Row(settings.publicURL, $0) }
      rows += await hostMeta(settings, check)
    }
    for service in settings.services.all {
      rows += await relay(service, settings, check).map { Row(service.uri, $0) }
    }
    if settings.federation != nil { rows += try await FederationCheck.rows(settings).map { Row($0) } }
    try await loops.shutdownGracefully()
    return rows
  }

  /// Returns the steps to a STUN or TURN server: over UDP it is asked, over TCP and TLS it is connected to.
  private static func relay(
    _ service: ExternalService, _ settings: Settings, _ check: ReachabilityCheck
  ) async -> [ReachabilityCheck.Step] {
    switch await check.addresses(of: service.host) {
    case .failure(let step): return [step]
    case .success(let addresses) where service.transport == .tcp:
      return await check.plain(
        service.host, addresses, port: service.port,
        advice: "does the relay run there (turn.servers), and does its firewall let port \(service.port) through?")
    case .success(let addresses):
      let caller = BareJID(parsing: settings.domains.first?.name ?? "localhost").map {
        Party(id: UserID(0), realm: RealmID(0), address: $0)
      }
      let credentials = caller.flatMap { settings.services.credentials(for: $0, at: service, now: SystemClock.now) }
      var steps: [ReachabilityCheck.Step] = []
      for address in addresses {
        steps += await RelayCheck(service: service, address: address, credentials: credentials).steps()
      }
      return steps
    }
  }

  /// Returns host and port of a URL of https.
  private static func httpsURL(_ url: String?) -> (String, Int)? {
    guard let url, url.hasPrefix("https://") else { return nil }
    let authority = url.dropFirst(8).prefix { $0 != "/" }
    guard !authority.hasPrefix("[") else { return nil }
    let parts = authority.split(separator: ":", maxSplits: 1)
    guard let host = parts.first else { return nil }
    return (String(host), parts.count > 1 ? Int(parts[1]) ?? 443 : 443)
  }

  /// Whether web clients find the WebSocket and BOSH of a domain (XEP-0156).
  private static func hostMeta(_ settings: Settings, _ check: ReachabilityCheck) async -> [Row] {
    let client = WebClient(
      .anywhere, authorities: settings.outgoing.authorities, logger: ServerLog(level: .warning).logger("parley"))
    defer { client.stop() }
    var rows: [Row] = []
    for domain in settings.domains {
      let url = "https://\(domain.name)/.well-known/host-meta.json"
      let advice =
        "web clients find no WebSocket; let the web server of \(domain.name) pass /.well-known/host-meta and host-meta.json "
        + "to \(settings.publicURL)"
      let step: ReachabilityCheck.Step
      do {
        let answer = try await client.send(WebRequest(.get, url))
        let text = String(decoding: answer.body, as: UTF8.self)
        let isThere = answer.isSuccess && text.contains("urn:xmpp:alt-connections")
        step =
          isThere
          ? .init("host-meta", .pass, "\(url) names the WebSocket")
          : .init("host-meta", .warn, "\(url) has no alternative connections (status \(answer.status))", advice: advice)
      } catch {
        // The library has one text for all faults of certificates.
        let tried = error.kind == .untrusted ? await check.web(domain.name, port: 443) : []
        if let fault = tried.first(where: { $0.step.hasPrefix("tls ") && $0.result == .fail }) {
          step = .init("host-meta", .warn, "\(url) cannot be read: \(fault.text)")
        } else {
          step = .init("host-meta", .warn, "\(url): \(error.description)", advice: advice)
        }
      }
      rows.append(Row(domain.name, step))
    }
    return rows
  }
}
