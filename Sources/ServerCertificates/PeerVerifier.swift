import Basics
import Crypto
import DNS
import Peers
import Synchronization

/// The judgement of other servers' certificates: PKIX, TLSA records in signed DNS (RFC 7671, RFC 7673), and if wanted the
/// fingerprints on a domain's web site (RFC 7711).
///
/// A verification runs on the cooperative thread pool, never on an event loop, and few run at once.
final class PeerVerifier: Sendable {
  private let trusted: Mutex<Authorities>
  private let posh: POSH?
  private let clock: any Clock
  private let places = TaskPlaces(CertificateLimits.verificationsAtOnce)
  private let remembered = RememberedChains()

  init(_ authorities: Authorities, posh: POSH?, clock: any Clock) {
    trusted = Mutex(authorities)
    self.posh = posh
    self.clock = clock
  }

  var authorities: Authorities {
    get { trusted.withLock { $0 } }
    set { trusted.withLock { $0 = newValue } }
  }

  func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict {
    if chain.isEmpty { return .invalid(reason: "no certificate was presented") }
    let chain = remembered.completed(chain)
    let presented: PresentedChain
    do throws(CertificateFlaw) { presented = try PresentedChain(chain) } catch { return Self.refusal(error) }
    await places.take()
    let judgement = await judge(presented, domain, Array(targets.prefix(CertificateLimits.targetsMax)))
    places.giveBack()
    switch judgement {
    case .success(let verdict):
      if case .valid = verdict { remembered.remember(chain) }
      return verdict
    case .failure(let flaw):
      if !targets.contains(where: { $0.isSecure && !$0.tlsa.isEmpty }), let verdict = await byPOSH(presented, domain) {
        return verdict
      }
      return Self.refusal(flaw)
    }
  }

  /// Verifies a chain as that of one of the targets. A target with TLSA records must match one; a certificate that suffices
  /// for one without them suffices in general, as it would on a connection to that.
  private func judge(
    _ presented: PresentedChain, _ domain: String, _ targets: [ServerTarget]
  ) async -> Result<PeerVerdict, CertificateFlaw> {
    let authorities = authorities
    let now = clock.now
    let checks = SignatureChecks()
    var flaws: [CertificateFlaw] = []
    var plain: [ServerTarget] = []
    for target in targets {
      guard let dane = DANE(target, domain: domain, authorities: authorities, now: now) else {
        plain.append(target)
        continue
      }
      do throws(CertificateFlaw) {
        return .success(.valid(by: .dane, until: try await dane.verify(presented, checks)))
      } catch { flaws.append(error) }
    }
    if targets.isEmpty || !plain.isEmpty {
      let names = ChainVerifier.Names(domain: domain, hosts: plain.filter(\.isSecure).map(\.name))
      let verifier = ChainVerifier(now: now, names: names, authorities: authorities, checks: checks)
      do throws(CertificateFlaw) {
        return .success(.valid(by: .pkix, until: try await verifier.verify(presented)))
      } catch { flaws.insert(error, at: 0) }
    }
    return .failure(flaws.first ?? CertificateFlaw("it cannot be verified"))
  }

  private func byPOSH(_ presented: PresentedChain, _ domain: String) async -> PeerVerdict? {
    let leaf = presented.leaf
    guard let posh, leaf.certificate.dateFlaw(clock.now) == nil, await posh.names(leaf.der, for: domain) else {
      return nil
    }
    return .valid(by: .posh, until: leaf.certificate.validUntil)
  }

  private static func refusal(_ flaw: CertificateFlaw) -> PeerVerdict {
    .invalid(reason: "the certificate is not valid: \(flaw.text)")
  }
}

/// The chains of valid certificates, for resumed TLS sessions (RFC 8446 2.2): these present no certificate, and only the
/// first one of the session is known.
private final class RememberedChains: Sendable {
  private struct State {
    var chains: [[UInt8]: [[UInt8]]] = [:]
    var byteCount = 0
  }
  private let state = Mutex(State())

  func completed(_ chain: [[UInt8]]) -> [[UInt8]] {
    guard chain.count == 1 else { return chain }
    let digest = Array(SHA256.hash(data: chain[0]))
    return state.withLock { $0.chains[digest] } ?? chain
  }

  func remember(_ chain: [[UInt8]]) {
    guard chain.count > 1 else { return }
    let digest = Array(SHA256.hash(data: chain[0]))
    let byteCount = chain.reduce(0) { $0 + $1.count }
    state.withLock { state in
      if let known = state.chains[digest] { state.byteCount -= known.reduce(0) { $0 + $1.count } }
      if state.byteCount + byteCount > CertificateLimits.rememberedBytesMax { state = State() }
      state.chains[digest] = chain
      state.byteCount += byteCount
    }
  }
}
