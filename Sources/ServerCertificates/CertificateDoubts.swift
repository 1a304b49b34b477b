public import Basics
import NIOSSL
import Peers
public import ServerConfiguration
import X509

extension Certificates {
  /// Judges the certificates that clients and servers get from files: their dates, their names and their chains. A file
  /// that cannot be used is passed over: `check` reports it as an error.
  ///
  /// - Parameter names: The names that clients and other servers look for in the certificate of a domain.
  /// - Returns: A sentence for each doubt, and one for domains without a certificate from files or an authority.
  public static func doubts(
    _ settings: Settings, issuedIn folder: String, at now: Timestamp, names: (Settings.Domain) -> [String]
  ) -> [String] {
    let (order, domains) = inFiles(settings)
    let authorities = known(settings)
    var texts = order.flatMap { files -> [String] in
      let found = presented(files.chain)
      guard let chain = found.chain else {
        return found.flaw.map { ["The certificate \(files.chain) is doubtful: \($0)."] } ?? []
      }
      let wanted = (domains[files] ?? []).flatMap { names($0) }
      let leaf = chain.leaf.certificate
      return [
        leaf.doubtfulDate(now).map { "\($0); \(leaf.dateRemedy(now))" }, leaf.missingNames(wanted),
        chain.missingIssuer(authorities),
      ].compactMap { $0 }.map { "The certificate \(files.chain) \($0)." }
    }
    // The authority's own is renewed by the server, however short its life is.
    if let issued = settings.acme?.certificate(in: folder), let chain = presented(issued.chain).chain,
      let flaw = chain.leaf.certificate.dateFlaw(now)
    {
      texts.append("The certificate \(issued.chain) \(flaw) (parley certificate show).")
    }
    return texts + [selfSigned(settings, in: folder, names)].compactMap { $0 }
  }

  /// Returns a sentence about the certificate that the server signs itself, with the host of `http.url` if it lacks that; nil if
  /// no client gets it, or only those that try the server out on its own machine.
  private static func selfSigned(
    _ settings: Settings, in folder: String, _ wanted: (Settings.Domain) -> [String]
  ) -> String? {
    // Until the certificate of an authority has come, there is a sentence about that (`Settings.ACME.shortcoming`).
    guard settings.acme == nil, settings.certificate == nil,
      settings.xmpp.isOn || settings.xmppTLS.isOn || settings.https.isOn || settings.federation != nil
    else { return nil }
    let domains = settings.domains.filter { $0.certificate == nil && $0.name != "localhost" }
    if domains.isEmpty { return nil }
    let names = domains.map(\.name).joined(separator: ", ")
    var text =
      "No certificate is set for \(names): clients get one that the server has signed itself, and ask whether to trust "
      + "it, or refuse. Set tls.certificate and tls.key, or tls.acme."
    // A certificate that is there keeps its names when only the host changes (`SelfSigned.prepare`). A host that leads to a
    // proxy is not looked for, and a certificate without a domain is replaced by the next start.
    let path = SelfSigned.chainPath(folder)
    if domains[0] == settings.domains[0], let host = settings.publicHost.map(CertificateNames.ascii),
      wanted(domains[0]).contains(where: { CertificateNames.ascii($0) == host }),
      !settings.domains.contains(where: { CertificateNames.ascii($0.name) == host }),
      let leaf = presented(path).chain?.leaf.certificate, let held = try? CertificateNames(of: leaf),
      !held.cover(host: host)
    {
      text += " It does not name \(host), the host of http.url: delete \(path) and restart the server."
    }
    return text
  }

  /// Returns remarks about certificates that only those accept who trust an authority which this machine does not know, such
  /// as a company's own.
  ///
  /// - Returns: A sentence for each certificate of a file.
  public static func remarks(_ settings: Settings) -> [String] {
    let authorities = known(settings)
    return inFiles(settings).order.compactMap { files in
      presented(files.chain).chain?.privateEnd(authorities).map { "The certificate \(files.chain) \($0)." }
    }
  }

  /// Returns the certificates of files in the order of the configuration, and the domains that each is for.
  private static func inFiles(
    _ settings: Settings
  ) -> (order: [Settings.CertificateFiles], domains: [Settings.CertificateFiles: [Settings.Domain]]) {
    var order: [Settings.CertificateFiles] = []
    var domains: [Settings.CertificateFiles: [Settings.Domain]] = [:]
    for domain in settings.domains {
      guard let files = domain.certificate ?? settings.certificate else { continue }
      if domains[files] == nil { order.append(files) }
      domains[files, default: []].append(domain)
    }
    return (order: order, domains: domains)
  }

  /// Returns the authorities that this machine and the configuration know.
  private static func known(_ settings: Settings) -> [Authorities] {
    let paths: [String?] = [nil, settings.outgoing.authorities, settings.federation?.authorities]
    return paths.compactMap { try? Authorities.read($0) }
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
  /// The last certificate of the way up that the file has; `nil` if an authority that is known here has issued it.
  func unknownEnd(_ authorities: [Authorities]) -> Certificate? {
    // Without authorities nothing can be said.
    if authorities.isEmpty { return nil }
    var tip = leaf.certificate
    var rest = others.map(\.certificate)
    while !authorities.contains(where: { !$0.named(tip.issuer).isEmpty }) {
      let issuer = tip.issuer
      guard issuer != tip.subject, let at = rest.firstIndex(where: { $0.subject == issuer }) else { return tip }
      tip = rest.remove(at: at)
    }
    return nil
  }

  /// The end of a clause about a certificate that is missing between the first one and an authority; `nil` if there is
  /// none. Those who connect know the authorities, and need all others to be presented (RFC 8446 4.4.2).
  ///
  /// Whether the unknown issuer is one between, or the root of an authority of one's own, is not in the certificate. Those
  /// that are issued for everybody say where their issuer's certificate is (RFC 5280 4.2.2.1), as no certificate below a
  /// known root would have to be fetched otherwise; those of one's own seldom do.
  fileprivate func missingIssuer(_ authorities: [Authorities]) -> String? {
    guard let end = unknownEnd(authorities), end.issuer != end.subject, end.locatesIssuer else { return nil }
    return "has an incomplete chain: the certificate of \(end.issuer.text) is missing in the file"
  }

  /// The end of a clause about a chain that is complete only for those who trust an authority that is unknown here.
  fileprivate func privateEnd(_ authorities: [Authorities]) -> String? {
    guard let end = unknownEnd(authorities) else { return nil }
    if end == leaf.certificate, end.issuer == end.subject {
      return "is signed by itself: it is accepted by those who were given it, and by nobody else"
    }
    let text =
      "leads to \(end.issuer.text), which this machine does not know: it is accepted by those who trust that authority"
    if end.issuer == end.subject { return text }
    return end.locatesIssuer
      ? nil : "\(text). If another authority vouches for that one, its certificate is missing in the file"
  }
}

extension Certificate {
  /// Whether it says where the certificate of its issuer can be fetched.
  var locatesIssuer: Bool {
    let access = try? extensions.authorityInformationAccess
    return access?.contains { $0.method == .issuingCA } ?? false
  }
}
