public import Basics
import NIOSSL
public import ServerConfiguration
import X509
import XMPPDoor

extension Certificates {
  /// Judges the certificates that clients and servers get from files: their dates, their names and their chains. A file
  /// that cannot be used is passed over: `check` reports it as an error.
  ///
  /// - Parameter names: The names that clients and other servers look for in the certificate of a domain.
  /// - Returns: A sentence for each doubt.
  public static func doubts(
    _ settings: Settings, issuedIn folder: String, at now: Timestamp, names: (Settings.Domain) -> [String]
  ) -> [String] {
    var order: [Settings.CertificateFiles] = []
    var wanted: [Settings.CertificateFiles: [String]] = [:]
    for domain in settings.domains {
      guard let files = domain.certificate ?? settings.certificate else { continue }
      if wanted[files] == nil { order.append(files) }
      wanted[files, default: []] += names(domain)
    }
    let paths: [String?] = [nil, settings.outgoing.authorities, settings.federation?.authorities]
    let authorities = paths.compactMap { try? Authorities.read($0) }
    var texts = order.flatMap { files -> [String] in
      let found = presented(files.chain)
      guard let chain = found.chain else {
        return found.flaw.map { ["The certificate \(files.chain) is doubtful: \($0)."] } ?? []
      }
      return [
        chain.leaf.certificate.doubtfulDate(now), chain.leaf.certificate.missingNames(wanted[files] ?? []),
        authorities.isEmpty ? nil : chain.missingIssuer(authorities),
      ].compactMap { $0 }.map { "The certificate \(files.chain) \($0)." }
    }
    // The authority's own is renewed by the server, however short its life is.
    if let issued = settings.acme?.certificate(in: folder), let chain = presented(issued.chain).chain,
      let flaw = chain.leaf.certificate.dateFlaw(now)
    {
      texts.append("The certificate \(issued.chain) \(flaw) (parley certificate show).")
    }
    return texts
  }

  private static func presented(_ path: String) -> (chain: PresentedChain?, flaw: String?) {
    guard let bytes = try? Files.read(path, bytesMax: CertificateLimits.fileBytesMax),
      let chain = try? NIOSSLCertificate.fromPEMBytes(bytes).map({ try $0.toDERBytes() })
    else { return (nil, nil) }
    do throws(CertificateFlaw) { return (try PresentedChain(chain), nil) } catch { return (nil, error.text) }
  }
}

extension Certificate {
  /// The end of a clause about dates that are over, not yet come or nearly over; `nil` if the certificate stays valid.
  fileprivate func doubtfulDate(_ now: Timestamp) -> String? {
    if let flaw = dateFlaw(now) { return flaw }
    // Certificates of six days are in order until two of them are left.
    let life = validUntil.milliseconds.subtractingReportingOverflow(validFrom.milliseconds).partialValue
    let left = validUntil.milliseconds.subtractingReportingOverflow(now.milliseconds).partialValue
    guard left < min(CertificateLimits.renewalDays * 86_400_000, life / 3) else { return nil }
    return "expires on \(validUntil.day), and has not been renewed"
  }

  /// The end of a clause about names of this server that the certificate does not have; `nil` if it has all of them.
  fileprivate func missingNames(_ wanted: [String]) -> String? {
    let held: CertificateNames
    do throws(CertificateFlaw) { held = try CertificateNames(of: self) } catch { return "is doubtful: \(error.text)" }
    var known = Set<String>()
    let missing = wanted.map(CertificateNames.ascii).filter { !held.cover(domain: $0) && known.insert($0).inserted }
    if missing.isEmpty { return nil }
    return "does not name \(missing.joined(separator: ", ")), so that clients and other servers refuse it there"
  }
}

extension PresentedChain {
  /// The end of a clause about a certificate that is missing between the first one and an authority; `nil` if there is
  /// none. Those who connect know the authorities, and need all others to be presented (RFC 8446 4.4.2).
  fileprivate func missingIssuer(_ authorities: [Authorities]) -> String? {
    var tip = leaf.certificate
    var rest = others.map(\.certificate)
    while tip.issuer != tip.subject, !authorities.contains(where: { !$0.named(tip.issuer).isEmpty }) {
      let issuer = tip.issuer
      guard let at = rest.firstIndex(where: { $0.subject == issuer }) else {
        return "has an incomplete chain: the certificate of \(issuer.text) is missing in the file"
      }
      tip = rest.remove(at: at)
    }
    return nil
  }
}
