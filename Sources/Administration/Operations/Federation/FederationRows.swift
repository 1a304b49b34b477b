import Basics
import Dialogs
package import Peers
import ServerConfiguration

extension FederationLinkStatus {
  /// The cells of a table of links: elsewhere, here, state, streams, waiting, failures, reason.
  package var cells: [String] {
    [
      remote, local, state.rawValue, streams.map(\.summary).joined(separator: ", "), String(waiting), String(failures),
      reason ?? "",
    ]
  }

  /// The link in lines for people.
  var lines: [String] {
    var lines = ["\(local): \(state.rawValue), \(waiting) waiting"]
    lines += streams.map { "  \($0.summary), \($0.address), since \($0.since)" }
    if let reason { lines.append("  Failed \(failures) times, the last time because \(reason)") }
    if let next { lines.append("  Next attempt: \(next)") }
    if let waitingSince { lines.append("  The oldest waits since: \(waitingSince)") }
    return lines
  }
}

extension FederationLinkStatus.Stream {
  /// The stream in one phrase: direction, version of TLS, verification, `sm` if the peer acknowledges.
  fileprivate var summary: String {
    ([direction.rawValue] + (tls.map { [$0] } ?? []) + [verified] + (acknowledges ? ["sm"] : []))
      .joined(separator: " ")
  }
}

/// The input that names a remote domain.
package struct FederationInput: Codable, Sendable {
  let domain: String
  package init(domain: String) { self.domain = domain }

  /// The domain in normal form.
  func elsewhere() throws(Problem) -> String {
    guard let name = Host.domain(domain) else {
      throw Problem(.malformed, "domain-malformed", "\(Line.safe(domain)) is not a domain.", field: "domain")
    }
    return name
  }
}

extension AdminContext {
  /// The running federation; nil if it is off, or no server is running.
  var federation: (any FederationControl)? { parley.hub.federation as? any FederationControl }

  func runningFederation() throws(Problem) -> any FederationControl {
    if let federation { return federation }
    throw Problem(.unsupported, "federation-absent", "No server is running, or federation.enabled is false.")
  }

  /// Returns all pairs of domains, or those with one domain elsewhere, by their names: links, and what waits without one.
  func federationLinks(with domain: String? = nil) async throws(Problem) -> [FederationLinkStatus] {
    var links = await federation?.links() ?? []
    let known = Set(links.map { DomainPair(local: $0.local, remote: $0.remote) })
    let giveUp = parley.options.giveUp
    links += try await parley.read { try $0.outboxPairs() }.filter { !known.contains($0.pair) }.map { stored in
      FederationLinkStatus(
        local: stored.pair.local, remote: stored.pair.remote, state: stored.nextAttemptAt == nil ? .idle : .backingOff,
        streams: [], waiting: stored.rows, waitingSince: stored.expiresAt + (.zero - giveUp),
        failures: stored.failures, reason: stored.reason, next: stored.nextAttemptAt)
    }
    return links.filter { domain == nil || $0.remote == domain }
      .sorted { ($0.remote, $0.local) < ($1.remote, $1.local) }
  }
}
