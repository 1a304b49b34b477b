import Addresses
import Basics
import SwiftASN1
import X509

/// The domains that a certificate names in its alternative names (RFC 5280 4.2.1.6), in A-labels and lower case. The
/// common name is none of them (RFC 6125 6.4.4 leaves it to implementations, RFC 9525 2 forbids it).
struct CertificateNames: Hashable, Sendable {
  /// dNSNames, of which the first label may be `*`.
  private(set) var hosts: [String] = []
  /// Domains of SRVNames of the service `xmpp-server` (RFC 4985) and of XmppAddrs (RFC 6120 13.7.1.4).
  private(set) var domains: [String] = []

  /// Reads a certificate's names.
  ///
  /// - Throws: A flaw if they cannot be read, or if there are too many.
  init(of certificate: Certificate) throws(CertificateFlaw) {
    let alternatives: SubjectAlternativeNames?
    do { alternatives = try certificate.extensions.subjectAlternativeNames } catch {
      throw CertificateFlaw("its names cannot be read")
    }
    guard let alternatives else { return }
    if alternatives.count > CertificateLimits.peerNamesMax {
      throw CertificateFlaw("it has more than \(CertificateLimits.peerNamesMax) names")
    }
    for alternative in alternatives {
      switch alternative {
      case .dnsName(let name): hosts.append(name.lowercased())
      case .otherName(let other):
        if let domain = Self.domain(of: other) { domains.append(domain) }
      default: continue
      }
    }
  }

  /// Returns whether one of the names is the XMPP domain, given in A-labels.
  func cover(domain: String) -> Bool { domains.contains(domain) || cover(host: domain) }

  /// Returns whether one of the dNSNames is the host, given in A-labels. A wildcard stands for exactly one label, the
  /// first (RFC 6125 6.4.3), and not below a top-level domain.
  func cover(host: String) -> Bool {
    if hosts.contains(host) { return true }
    guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
    let parent = host[host.index(after: dot)...]
    return parent.contains(".") && hosts.contains("*." + parent)
  }

  /// The names for an error text: each once, the first few of many.
  var summary: String? {
    var known = Set<String>()
    let all = (domains + hosts).filter { known.insert($0).inserted }
    guard !all.isEmpty else { return nil }
    let shown = all.prefix(CertificateLimits.namesShownMax).map { Line.safe(String($0.prefix(253))) }
    let list = shown.joined(separator: ", ")
    return all.count > shown.count ? "\(list) and \(all.count - shown.count) more" : list
  }

  /// The names for an operator.
  var shown: [String] {
    var known = Set<String>()
    return (domains + hosts).filter { known.insert($0).inserted }.map { Line.safe(String($0.prefix(253))) }
  }

  private static let srvName: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 8, 7]
  private static let xmppAddr: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 8, 5]
  private static let service = "_xmpp-server."

  private static func domain(of other: GeneralName.OtherName) -> String? {
    guard let value = other.value else { return nil }
    switch other.typeID {
    case srvName:
      guard let text = (try? ASN1IA5String(asn1Any: value)).map({ String($0).lowercased() }), text.hasPrefix(service)
      else { return nil }
      return String(text.dropFirst(service.count))
    case xmppAddr:
      guard let text = (try? ASN1UTF8String(asn1Any: value)).map(String.init),
        let address = BareJID(parsing: text), address.local == nil
      else { return nil }
      return CertificateNames.ascii(address.domain)
    default: return nil
    }
  }

  /// Returns a domain in the form of certificates' names.
  static func ascii(_ domain: String) -> String { AsciiDomain.of(domain).lowercased() }
}

/// The reason why a certificate is not good for a domain, as a clause whose subject is the certificate.
struct CertificateFlaw: Error, Hashable, Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}
