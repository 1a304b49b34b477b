import Basics
import SwiftASN1
import X509

/// Verifies chains of certificates: path building and path validation (RFC 5280 6) by swift-certificates, and the rules
/// for servers' certificates (RFC 6120 13.7.1.2.1, RFC 6125).
///
/// Revocation is not checked: neither OCSP nor lists are asked for (RFC 6120 13.7.2, item 5, is not followed). Authorities
/// answer for both less and less, and an answer that does not come would either stop all streams or be ignored.
struct ChainVerifier {
  /// The names of which a certificate must have one, in A-labels.
  struct Names: Sendable {
    let domain: String
    /// The hosts that signed DNS names as the domain's servers (RFC 7673 4.1).
    var hosts: [String] = []

    init(domain: String, hosts: [String] = []) {
      self.domain = CertificateNames.ascii(domain)
      self.hosts = hosts.map(CertificateNames.ascii)
    }
  }

  let now: Timestamp
  let names: Names
  let authorities: Authorities
  /// The checks that the judgement has left, which all of its verifications share.
  var checks = SignatureChecks()
  /// A condition on one of the authorities of the chain (RFC 7671 5.4).
  var mustContain: (@Sendable (Certificate) -> Bool)?

  /// Returns the time at which the first certificate of the chain expires.
  ///
  /// - Throws: All flaws of the certificate and the first of its chain, in one text.
  func verify(_ presented: PresentedChain) async throws(CertificateFlaw) -> Timestamp {
    let leaf = presented.leaf.certificate
    let matches = try matchingNames(leaf)
    var flaws = try flaws(of: leaf)
    if matches.isEmpty { flaws.insert(try nameFlaw(leaf), at: 0) }
    let policy = ChainPolicy(
      now: now, names: matches.isEmpty ? [names.domain] : matches, mustContain: mustContain, checks)
    let roots = CertificateStore(custom: CountedIssuers(authorities, checks))
    let others = Authorities(presented.others.map(\.certificate))
    var verifier = Verifier(rootCertificates: roots) { policy }
    let intermediates = CertificateStore(custom: CountedIssuers(others, checks))
    switch await verifier.validate(leaf: leaf, intermediates: intermediates) {
    case .validCertificate(let chain):
      if flaws.isEmpty { return chain.map(\.validUntil).min() ?? now }
    case .couldNotValidate(let failures):
      flaws.append(failures.first?.policyFailureReason.description ?? pathFlaw(presented, policy))
    }
    var known = Set<String>()
    throw CertificateFlaw(flaws.filter { known.insert($0).inserted }.joined(separator: "; "))
  }

  private func matchingNames(_ leaf: Certificate) throws(CertificateFlaw) -> [String] {
    let held = try CertificateNames(of: leaf)
    return (held.cover(domain: names.domain) ? [names.domain] : []) + names.hosts.filter(held.cover(host:))
  }

  private func nameFlaw(_ leaf: Certificate) throws(CertificateFlaw) -> String {
    guard let held = try CertificateNames(of: leaf).summary else {
      return "it names no domain (the common name does not count), so it is not for \(names.domain)"
    }
    return "it is for \(held), not for \(names.domain)"
  }

  private func flaws(of leaf: Certificate) throws(CertificateFlaw) -> [String] {
    var flaws: [String] = []
    if let flaw = leaf.dateFlaw(now) { flaws.append("it \(flaw)") }
    if try !leaf.isForServers { flaws.append("its extended key usage does not allow servers (serverAuth)") }
    return flaws
  }

  /// Returns the reason why there is no path from a certificate to an authority.
  private func pathFlaw(_ presented: PresentedChain, _ policy: ChainPolicy) -> String {
    var tip = presented.leaf.certificate
    var rest = presented.others.map(\.certificate)
    while true {
      if let extensionText = policy.unknownCriticalExtension(tip) {
        return
          "\(tip == presented.leaf.certificate ? "it" : "its authority \(tip.subjectText)") has the critical extension"
          + " \(extensionText), which is not understood"
      }
      // A certificate that is signed with its own key leads nowhere, even if a known authority has its name.
      if tip.issuer == tip.subject, signer(of: tip, among: [tip]) != nil { break }
      let named = (rest + authorities.named(tip.issuer)).filter { $0.subject == tip.issuer && $0 != tip }
      guard !named.isEmpty else { break }
      guard let issuer = signer(of: tip, among: named) else {
        return checks.isSpent
          ? "its chain has more possible issuers than are tried"
          : "its chain has a signature that is not by \(tip.issuer.text)"
      }
      guard let at = rest.firstIndex(of: issuer) else { return "its chain leads to no authority" }
      rest.remove(at: at)
      tip = issuer
    }
    if tip.issuer == tip.subject {
      return tip == presented.leaf.certificate
        ? "it is self-signed" : "it was issued by an authority that is not known here: \(tip.subjectText)"
    }
    return "it was issued by an authority that is not known here, and whose certificate was not presented:"
      + " \(tip.issuer.text)"
  }

  /// Returns the first of the certificates that has signed another one.
  private func signer(of certificate: Certificate, among issuers: [Certificate]) -> Certificate? {
    checks.take(issuers).first { $0.publicKey.isValidSignature(certificate.signature, for: certificate) }
  }
}

extension Certificate {
  /// The end of a clause that says why the certificate is not valid at a time (RFC 5280 4.1.2.5); `nil` if it is.
  func dateFlaw(_ now: Timestamp) -> String? {
    if now > validUntil { return "expired on \(validUntil.day)" }
    if now < validFrom { return "is not valid before \(validFrom.day)" }
    return nil
  }

  /// Returns what an operator does about a certificate in a file whose dates are doubtful.
  func dateRemedy(_ now: Timestamp) -> String {
    if now < validFrom { return "use the former one until then, or correct the clock of this machine" }
    return
      "renew it: the server reads changed files within \(CertificateLimits.pollInterval.components.seconds) seconds, or "
      + "at once by parley reload"
  }
}
