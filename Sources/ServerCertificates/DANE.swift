import Basics
import Crypto
import DNS
import Peers
import SwiftASN1
import X509

/// The verification of a server by the TLSA records of its host (RFC 6698, RFC 7671, for servers found by SRV records
/// RFC 7673). The records must come from an answer that DNSSEC vouches for.
struct DANE {
  let now: Timestamp
  let domain: String
  let target: ServerTarget
  let authorities: Authorities
  /// The records of use, at least one.
  private let records: [TLSARecord]

  /// Makes the verification; `nil` if none of the target's records is of use, which is as if it had none (RFC 7673 4.1).
  init?(_ target: ServerTarget, domain: String, authorities: Authorities, now: Timestamp) {
    guard target.isSecure else { return nil }
    let usable = target.tlsa.filter(Self.isUsable).prefix(CertificateLimits.tlsaMax)
    // Of two digests of one thing only the stronger counts (RFC 7671 9).
    records = usable.filter { record in
      record.matching != 1
        || !usable.contains { $0.matching == 2 && $0.usage == record.usage && $0.selector == record.selector }
    }
    if records.isEmpty { return nil }
    (self.now, self.domain, self.target, self.authorities) = (now, domain, target, authorities)
  }

  /// Returns the time at which the chain is no longer good for the target.
  ///
  /// - Throws: The reason why none of the records matches.
  func verify(_ presented: PresentedChain, _ checks: SignatureChecks) async throws(CertificateFlaw) -> Timestamp {
    func matching(_ usage: UInt8, _ link: PresentedChain.Link) -> Bool {
      records.contains { $0.usage == usage && Self.matches($0, link) }
    }
    // DANE-EE: neither the names nor the dates of the certificate count (RFC 7671 5.1).
    if matching(3, presented.leaf) { return .latest }

    var verifiers: [ChainVerifier] = []
    let names = ChainVerifier.Names(domain: domain, hosts: [target.name])
    // PKIX-EE (5.3).
    if matching(1, presented.leaf) {
      verifiers.append(ChainVerifier(now: now, names: names, authorities: authorities, checks: checks))
    }
    // PKIX-TA (5.4): path building goes on until an authority matches.
    let named = records.filter { $0.usage == 0 }
    if !named.isEmpty {
      let condition: @Sendable (Certificate) -> Bool = { certificate in
        guard let link = PresentedChain.Link(certificate) else { return false }
        return named.contains { Self.matches($0, link) }
      }
      verifiers.append(
        ChainVerifier(
          now: now, names: names, authorities: authorities, checks: checks, mustContain: condition))
    }
    // DANE-TA (5.2): the authority is one of the chain's, or in the record itself (2 0 0). A bare key in the record
    // (2 1 0) whose certificate was not presented is not followed up (5.2.3 recommends it).
    var anchors = presented.others.filter { matching(2, $0) }.map(\.certificate)
    anchors += records.filter { $0.usage == 2 && $0.selector == 0 && $0.matching == 0 }
      .compactMap { try? Certificate(derEncoded: $0.data) }.filter { !anchors.contains($0) }
    if !anchors.isEmpty {
      verifiers.append(ChainVerifier(now: now, names: names, authorities: Authorities(anchors), checks: checks))
    }

    var flaw = CertificateFlaw("it matches none of the TLSA records of \(target.name)")
    for verifier in verifiers {
      do throws(CertificateFlaw) { return try await verifier.verify(presented) } catch {
        flaw = CertificateFlaw("it must match a TLSA record of \(target.name), but \(error.text)")
      }
    }
    throw flaw
  }

  /// Whether usage, selector and matching type are known, and the data can be what they say (RFC 6698 4.1).
  private static func isUsable(_ record: TLSARecord) -> Bool {
    guard record.usage <= 3, record.selector <= 1 else { return false }
    switch record.matching {
    case 0: return !record.data.isEmpty
    case 1: return record.data.count == SHA256.byteCount
    case 2: return record.data.count == SHA512.byteCount
    default: return false
    }
  }

  private static func matches(_ record: TLSARecord, _ link: PresentedChain.Link) -> Bool {
    guard let selected = record.selector == 0 ? link.der : link.publicKeyInfo else { return false }
    switch record.matching {
    case 0: return record.data == selected
    case 1: return SHA256.hash(data: selected) == record.data
    default: return SHA512.hash(data: selected) == record.data
    }
  }
}

extension PresentedChain.Link {
  init?(_ certificate: Certificate) {
    var serializer = DER.Serializer()
    guard (try? serializer.serialize(certificate)) != nil else { return nil }
    self.init(certificate: certificate, der: serializer.serializedBytes)
  }

  /// The bytes of SubjectPublicKeyInfo as they are in the certificate: the library's are in a form of its own.
  fileprivate var publicKeyInfo: [UInt8]? {
    guard let node = try? DER.parse(certificate.tbsCertificateBytes), case .constructed(let fields) = node.content
    else { return nil }
    // TBSCertificate (RFC 5280 4.1): version [0] unless 1, serialNumber, signature, issuer, validity, subject, key.
    let version = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
    var before = fields.first(where: { _ in true })?.identifier == version ? 6 : 5
    for field in fields {
      if before == 0 { return Array(field.encodedBytes) }
      before -= 1
    }
    return nil
  }
}
