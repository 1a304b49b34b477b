import Basics
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// The conditions on a path from a server's certificate to an authority (RFC 5280 6.1). It repeats some of the library's
/// to give a reason in plain words, and adds what that leaves open.
struct ChainPolicy: VerifierPolicy, Sendable {
  let now: Timestamp
  /// The names that the certificate has and that are looked for, in A-labels. One of them must be within all name
  /// constraints, whatever form it has in the certificate: those for dNSNames apply to SRVNames and XmppAddrs, too, which
  /// RFC 5280 4.2.1.10 would leave unconstrained.
  let names: [String]
  let mustContain: (@Sendable (Certificate) -> Bool)?
  private let checks: SignatureChecks

  /// The checks of the library (version, name constraints), without the dates, of which this policy says more.
  private let base = RFC5280Policy.withValidityCheckDisabled()

  init(
    now: Timestamp, names: [String], mustContain: (@Sendable (Certificate) -> Bool)?, _ checks: SignatureChecks
  ) {
    self.now = now
    self.checks = checks
    self.names = names
    self.mustContain = mustContain
  }

  var verifyingCriticalExtensions: [ASN1ObjectIdentifier] {
    base.verifyingCriticalExtensions + [.X509ExtensionID.extendedKeyUsage, .X509ExtensionID.subjectAlternativeName]
  }

  /// Returns the first critical extension that stops path building (RFC 5280 4.2).
  func unknownCriticalExtension(_ certificate: Certificate) -> String? {
    certificate.extensions.first { $0.critical && !verifyingCriticalExtensions.contains($0.oid) }
      .map { String(describing: $0.oid) }
  }

  func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
    do throws(CertificateFlaw) {
      try check(Array(chain))
    } catch {
      return .failsToMeetPolicy(reason: error.text)
    }
    guard case .failsToMeetPolicy = base.chainMeetsPolicyRequirements(chain: chain) else { return .meetsPolicy }
    if chain.count == 1 { return .failsToMeetPolicy(reason: "it is self-signed and not marked as an authority") }
    let constrains = chain.contains { $0.extensions[oid: .X509ExtensionID.nameConstraints] != nil }
    return .failsToMeetPolicy(
      reason: constrains
        ? "an authority in its chain may not issue certificates for its names" : "its chain is malformed")
  }

  private func check(_ chain: [Certificate]) throws(CertificateFlaw) {
    guard let root = chain.last else { return }
    // An authority is trusted as it is (RFC 5280 6.1.1 d): its own signature and extended key usage say nothing.
    for certificate in chain.dropLast() where certificate.isWeaklySigned {
      throw CertificateFlaw("its chain is signed with SHA-1, which is not safe")
    }
    var below = 0
    for issuer in chain.dropFirst() {
      if let flaw = issuer.dateFlaw(now) { throw CertificateFlaw("its authority \(issuer.subjectText) \(flaw)") }
      // Certificates of version 1 do not say whether they are authorities'; trusted ones are (RFC 5280 6.1.4 k).
      if issuer.version != .v1 || issuer != root { try check(issuer, authoritiesBelow: below) }
      if issuer != root, try !issuer.isForServers {
        throw CertificateFlaw("its authority \(issuer.subjectText) may not issue certificates for servers")
      }
      if issuer.subject != issuer.issuer { below += 1 }
    }
    if let mustContain, !chain.dropFirst().contains(where: mustContain) {
      throw CertificateFlaw("none of its authorities is the one that the TLSA records name")
    }
    try countNames(chain)
    try checkNames(chain.dropFirst())
  }

  /// Counts the comparisons of all names in a chain with all name constraints, here and by the library.
  private func countNames(_ chain: [Certificate]) throws(CertificateFlaw) {
    func byteCount(_ extensionID: ASN1ObjectIdentifier) -> Int {
      chain.reduce(0) { $0 + ($1.extensions[oid: extensionID]?.value.count ?? 0) }
    }
    let comparisons =
      byteCount(.X509ExtensionID.subjectAlternativeName) * byteCount(.X509ExtensionID.nameConstraints)
    guard checks.take(comparisons / CertificateLimits.namesPerCheck) else {
      throw CertificateFlaw("its chain has more names and name constraints than are compared")
    }
  }

  private func check(_ issuer: Certificate, authoritiesBelow: Int) throws(CertificateFlaw) {
    let constraints: BasicConstraints?
    do { constraints = try issuer.extensions.basicConstraints } catch {
      throw CertificateFlaw("the constraints of its authority \(issuer.subjectText) cannot be read")
    }
    guard case .isCertificateAuthority(let length) = constraints else {
      throw CertificateFlaw("its issuer \(issuer.subjectText) is not an authority")
    }
    if let length, length < authoritiesBelow {
      throw CertificateFlaw("its authority \(issuer.subjectText) may not have further authorities below it")
    }
  }

  private func checkNames(_ issuers: ArraySlice<Certificate>) throws(CertificateFlaw) {
    var left = names
    for issuer in issuers {
      let constraints: NameConstraints?
      do { constraints = try issuer.extensions.nameConstraints } catch {
        throw CertificateFlaw("the constraints of its authority \(issuer.subjectText) cannot be read")
      }
      guard let constraints else { continue }
      left.removeAll { !Self.admits($0, constraints) }
      if left.isEmpty {
        throw CertificateFlaw(
          "its authority \(issuer.subjectText) may not issue certificates for \(names.joined(separator: " or "))")
      }
    }
  }

  /// Returns whether a name is within the constraints for dNSNames: one of the permitted trees, if there are any, and
  /// none of the excluded ones.
  private static func admits(_ name: String, _ constraints: NameConstraints) -> Bool {
    func isWithin(_ tree: String) -> Bool {
      var tree = tree.lowercased()
      if tree.hasPrefix(".") { tree.removeFirst() }
      return tree.isEmpty || name == tree || name.hasSuffix("." + tree)
    }
    let permitted = constraints.permittedDNSDomains
    if !permitted.isEmpty, !permitted.contains(where: isWithin) { return false }
    return !constraints.excludedDNSDomains.contains(where: isWithin)
  }
}
