import Synchronization
import X509

/// The checks of signatures and names for one judgement of a peer's certificates, which are bounded in all. Theory:
///
/// The library tries every path from the first certificate to an authority, and does not stop in between. Whoever makes the
/// certificates decides how many paths there are: a certificate that names an issuer can be by any other one with that name,
/// so ten have hundreds of thousands. A check costs up to a millisecond. So all checks are counted, of all searches of a
/// judgement together: `CountedIssuers` hands out as many issuers as may still be checked.
final class SignatureChecks: Sendable {
  private let state = Mutex((left: CertificateLimits.signatureChecksMax, isSpent: false))

  /// Whether more checks were wanted than there are.
  var isSpent: Bool { state.withLock { $0.isSpent } }

  /// Counts checks. Returns `false` if fewer are left.
  func take(_ count: Int) -> Bool {
    state.withLock { state in
      let isEnough = count <= state.left
      state.left = max(0, state.left - count)
      if !isEnough { state.isSpent = true }
      return isEnough
    }
  }

  /// Counts one check for each of the issuers, and returns those of them for which there was one left.
  func take(_ issuers: [Certificate]) -> [Certificate] {
    state.withLock { state in
      let taken = issuers.prefix(state.left)
      state.left -= taken.count
      if taken.count < issuers.count { state.isSpent = true }
      return Array(taken)
    }
  }
}

/// Issuers for the library's search, each of which counts as one check when it is handed out.
struct CountedIssuers: CustomCertificateStore {
  private var known: Authorities
  private let checks: SignatureChecks

  init(_ known: Authorities, _ checks: SignatureChecks) {
    self.known = known
    self.checks = checks
  }

  subscript(subject: DistinguishedName) -> [Certificate]? {
    get async {
      let named = known.named(subject)
      return named.isEmpty ? nil : checks.take(named)
    }
  }

  func contains(_ certificate: Certificate) async -> Bool { known.named(certificate.subject).contains(certificate) }

  mutating func append(contentsOf certificates: some Sequence<Certificate>) {
    known = Authorities(joining: [known, Authorities(Array(certificates))])
  }

  static func == (one: CountedIssuers, other: CountedIssuers) -> Bool {
    one.checks === other.checks && one.known == other.known
  }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(checks)) }
}
