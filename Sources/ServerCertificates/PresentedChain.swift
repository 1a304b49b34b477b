import Basics
import FoundationEssentials
import SwiftASN1
import X509

/// The certificates that a peer presented, parsed.
struct PresentedChain: Sendable {
  /// One certificate with its bytes.
  struct Link: Sendable {
    let certificate: Certificate
    let der: [UInt8]
  }

  let leaf: Link
  /// The others in the peer's order, without those that cannot be of use.
  let others: [Link]

  /// Parses a chain within its bounds (`CertificateLimits`). Certificates behind the first that cannot be parsed are left
  /// out: the chain is complete without them or is not.
  init(_ chain: [[UInt8]]) throws(CertificateFlaw) {
    guard let first = chain.first else { throw CertificateFlaw("none was presented") }
    if chain.count > CertificateLimits.peerChainMax {
      throw CertificateFlaw("it came with more than \(CertificateLimits.peerChainMax - 1) others")
    }
    if chain.reduce(0, { $0 + $1.count }) > CertificateLimits.peerChainBytesMax {
      throw CertificateFlaw("it and its chain have more than \(CertificateLimits.peerChainBytesMax / 1024) KiB")
    }
    guard let leaf = Self.link(first) else {
      throw CertificateFlaw("it cannot be read, or its key is of an unknown or weak kind")
    }
    self.leaf = leaf
    others = chain.dropFirst().compactMap(Self.link).filter { $0.der != first }
  }

  /// The library knows RSA keys of 2048 to 8192 bits, the curves of NIST and Ed25519; others count as unreadable.
  private static func link(_ der: [UInt8]) -> Link? {
    guard let certificate = try? Certificate(derEncoded: der) else { return nil }
    return Link(certificate: certificate, der: der)
  }
}

extension Certificate {
  var validFrom: Timestamp { Timestamp(notValidBefore) }
  var validUntil: Timestamp { Timestamp(notValidAfter) }

  /// The subject for an error text.
  var subjectText: String { subject.text }

  /// Whether the signature is over a hash for which forgeries can be made.
  var isWeaklySigned: Bool { signatureAlgorithm == .sha1WithRSAEncryption }

  /// Whether the certificate may be used for servers: its extended key usage says so or is absent (RFC 5280 4.2.1.12).
  /// The purpose of clients is not required of a server that connects to another: public authorities leave it out.
  var isForServers: Bool {
    get throws(CertificateFlaw) {
      do {
        guard let usages = try extensions.extendedKeyUsage else { return true }
        return usages.contains(.serverAuth) || usages.contains(.any)
      } catch { throw CertificateFlaw("its extended key usage cannot be read") }
    }
  }
}

extension DistinguishedName {
  /// The name for an error text: on one line, and not longer than one needs to recognise it.
  var text: String {
    let whole = Line.safe(description)
    return whole.count > 200 ? whole.prefix(200) + "…" : whole
  }
}

extension Timestamp {
  init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
  }

  /// The day, for an error text.
  var day: String { String(description.prefix(10)) }
}
