import Addresses
import Basics
import Crypto
import JSON
import Synchronization
import WebClient

/// The fingerprints of certificates that domains publish on their web sites (PKIX over Secure HTTP, RFC 7711).
///
/// A stranger who connects chooses the domain that is asked, so the requests are few: every outcome is kept for a time,
/// and only some run at once (`CertificateLimits`).
final class POSH: Sendable {
  /// Returns the answer to a GET; `nil` if there is none. A `WebClient` of public addresses makes it, which checks the
  /// web server's certificate.
  typealias Fetch = @Sendable (_ url: String) async -> WebAnswer?

  private struct Entry {
    let fingerprints: [Fingerprint]
    let until: Timestamp
  }

  /// The digests of one certificate.
  private struct Fingerprint: Hashable {
    let sha256: [UInt8]?
    let sha512: [UInt8]?

    /// By the stronger digest, if both are known.
    func matches(_ certificate: [UInt8]) -> Bool {
      if let sha512 { return SHA512.hash(data: certificate) == sha512 }
      if let sha256 { return SHA256.hash(data: certificate) == sha256 }
      return false
    }
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var underWay = 0
    var underWayOfZones: [String: Int] = [:]
  }

  private let fetch: Fetch
  private let clock: any Clock
  private let state = Mutex(State())

  init(clock: any Clock, fetch: @escaping Fetch) {
    self.clock = clock
    self.fetch = fetch
  }

  convenience init(_ client: WebClient, clock: any Clock) {
    self.init(clock: clock) { url in
      try? await client.send(
        WebRequest(
          .get, url, headers: [("accept", "application/json")], timeout: CertificateLimits.poshTimeout,
          answerBytesMax: CertificateLimits.poshBytesMax))
    }
  }

  /// Returns whether a domain's web site names a certificate, given in DER.
  func names(_ certificate: [UInt8], for domain: String) async -> Bool {
    let domain = CertificateNames.ascii(domain)
    return await fingerprints(of: domain).contains { $0.matches(certificate) }
  }

  private func fingerprints(of domain: String) async -> [Fingerprint] {
    let now = clock.now
    let zone = DomainZone.of(domain)
    let known: [Fingerprint]? = state.withLock { state in
      if let entry = state.entries[domain], entry.until > now { return entry.fingerprints }
      // At the bound the answer is no; a later attempt of the peer finds a free place.
      if state.underWay >= CertificateLimits.poshAtOnce { return [] }
      if state.underWayOfZones[zone, default: 0] >= CertificateLimits.poshPerZoneAtOnce { return [] }
      state.underWay += 1
      state.underWayOfZones[zone, default: 0] += 1
      return nil
    }
    if let known { return known }
    let found = await look(for: "https://\(domain)/.well-known/posh/xmpp-server.json")
    let lifetime = found.map { min($0.lifetime, CertificateLimits.poshLifetimeMax) }
    let entry = Entry(
      fingerprints: found?.fingerprints ?? [], until: clock.now + (lifetime ?? CertificateLimits.poshAbsence))
    state.withLock { state in
      state.underWay -= 1
      let left = state.underWayOfZones[zone, default: 0] - 1
      state.underWayOfZones[zone] = left > 0 ? left : nil
      if state.entries.count >= CertificateLimits.poshDomainsMax {
        state.entries = state.entries.filter { $0.value.until > now }
        if state.entries.count >= CertificateLimits.poshDomainsMax { state.entries = [:] }
      }
      state.entries[domain] = entry
    }
    return entry.fingerprints
  }

  /// Fetches a document and the one that it refers to, redirects followed (RFC 7711 3, 10).
  private func look(for first: String) async -> (fingerprints: [Fingerprint], lifetime: Duration)? {
    var url = first
    var lifetime: Duration?
    var isReferred = false
    for _ in 0...CertificateLimits.poshHopsMax {
      guard let answer = await fetch(url) else { return nil }
      if [301, 302, 303, 307, 308].contains(answer.status), let next = answer.header("location") {
        guard next.hasPrefix("https://") else { return nil }
        url = next
        continue
      }
      guard answer.status == 200, let document = try? JSONValue(parsing: answer.body),
        let seconds = document["expires"]?.number, seconds > 0, seconds < 1e12
      else { return nil }
      // The shorter one of reference and fingerprints holds (6).
      lifetime = min(lifetime ?? .seconds(Int64(seconds)), .seconds(Int64(seconds)))
      if let next = document["url"]?.string {
        // A document that was referred to refers to no other (3.2).
        guard !isReferred, next.hasPrefix("https://") else { return nil }
        isReferred = true
        url = next
        continue
      }
      guard case .array(let list) = document["fingerprints"], let lifetime else { return nil }
      return (list.prefix(CertificateLimits.poshFingerprintsMax).map(Self.fingerprint), lifetime)
    }
    return nil
  }

  private static func fingerprint(_ value: JSONValue) -> Fingerprint {
    func digest(_ name: String) -> [UInt8]? { value[name]?.string.flatMap { Base64.decode($0.utf8) } }
    return Fingerprint(sha256: digest("sha-256"), sha512: digest("sha-512"))
  }
}
