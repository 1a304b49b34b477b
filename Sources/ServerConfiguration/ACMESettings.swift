import Addresses
import Basics

extension Settings {
  /// The authority that certifies the domains without a certificate of their own (ACME, RFC 8555).
  public struct ACME: Hashable, Sendable {
    /// The way by which the authority verifies that a name leads here.
    public enum Validation: Hashable, Sendable {
      /// It fetches a file from the plain HTTP port (RFC 8555 8.3).
      case http
      /// It begins TLS with the HTTPS port (RFC 8737).
      case tlsALPN
    }

    /// An account to which that of ACME is bound (RFC 8555 7.3.4).
    public struct External: Hashable, Sendable {
      public let keyID: String
      /// The file with its key in base64url.
      public let keyFile: String
    }

    /// The URL of the authority's directory.
    public let directory: String
    /// Mail addresses that the authority may write to.
    public let contacts: [String]
    /// The account with the authority's operator; nil if it wants none.
    public let external: External?
    /// A PEM file of authorities that certify the ACME server itself; nil for those of `outgoing.authorities`.
    public let authorities: String?
    public let validation: Validation
    /// The names to certify, as they are in certificates: of each domain without a certificate of its own the domain and
    /// its services, then the host of the public URL.
    public let names: [String]
  }
}

extension SettingsReader {
  private static let letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"
  private static let letsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"

  /// Returns the settings of ACME; nil if it is off.
  mutating func acme(
    for domains: [Settings.Domain], certificate: Settings.CertificateFiles?, http: Settings.Endpoint,
    https: Settings.Endpoint, publicURL: String, hasUploads: Bool
  ) -> Settings.ACME? {
    let isOn = read(keys.acmeEnabled)
    let isAgreed = read(keys.acmeTermsAgreed)
    let written = read(keys.acmeDirectory)
    let contacts = read(keys.acmeContact)
    let authorities = read(keys.acmeAuthorities)
    let (keyID, keyFile) = (read(keys.acmeEABKeyID), read(keys.acmeEABKey))
    if keyID.isEmpty != keyFile.isEmpty {
      let (missing, present) =
        keyID.isEmpty ? (keys.acmeEABKeyID, keys.acmeEABKey) : (keys.acmeEABKey, keys.acmeEABKeyID)
      reject(present, "\(missing.name) must be set as well")
    }
    // RFC 8555 7.3.4: ASCII.
    if !keyID.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { reject(keys.acmeEABKeyID, "it must be ASCII") }
    guard isOn else { return nil }
    if !isAgreed {
      reject(
        keys.acmeTermsAgreed, "true is expected with tls.acme.enabled: read the authority's terms, and agree to them")
    }
    if certificate != nil {
      reject(keys.acmeEnabled, "tls.certificate is set, too; a domain uses either its own certificate or one by ACME")
    }
    let directory =
      switch written {
      case "letsencrypt": Self.letsEncrypt
      case "staging": Self.letsEncryptStaging
      default: written
      }
    if !directory.hasPrefix("https://") || !Host.isWebURL(directory) {
      reject(
        keys.acmeDirectory, "letsencrypt, staging, or a URL such as https://acme.example.org/directory is expected")
    }
    for contact in contacts where !contact.contains("@") || contact.contains(where: { "?,: ".contains($0) }) {
      // RFC 8555 7.3: one address, without header fields.
      reject(keys.acmeContact, "'\(Line.safe(contact))' is not a mail address such as admin@example.org")
    }
    guard http.isOn || https.isOn else {
      reject(keys.acmeEnabled, "the authority verifies domains over http.port or https.port; turn one of them on")
      return nil
    }
    let names = Self.certified(domains, publicURL: https.isOn ? publicURL : nil, hasUploads: hasUploads)
    if names.isEmpty { reject(keys.acmeEnabled, "it is not needed, as every domain has its own certificate") }
    if names.count > ConfigurationLimits.certifiedNamesMax {
      reject(
        keys.acmeEnabled,
        "a certificate has at most \(ConfigurationLimits.certifiedNamesMax) names, but the domains and their services "
          + "have \(names.count); set certificates for some of the domains")
    }
    return Settings.ACME(
      directory: directory, contacts: contacts,
      external: keyFile.isEmpty ? nil : .init(keyID: keyID, keyFile: keyFile),
      authorities: authorities.isEmpty ? nil : authorities,
      validation: Self.validation(http: http, https: https), names: names)
  }

  /// The plain HTTP port is asked if it is on. It is by default, for a proxy on this machine; a server with an HTTPS port
  /// of 443 has none before it, and then nobody reaches the loopback address.
  private static func validation(http: Settings.Endpoint, https: Settings.Endpoint) -> Settings.ACME.Validation {
    if !http.isOn || https.port == 443 && Host.isLoopback(http.host) { return .tlsALPN }
    return .http
  }

  private static func certified(_ domains: [Settings.Domain], publicURL: String?, hasUploads: Bool) -> [String] {
    let own = domains.filter { $0.certificate == nil }
    // The domains come first: the name that a client asks for.
    var names = own.map(\.name)
    for domain in own {
      names.append(domain.rooms)
      if hasUploads { names.append(domain.uploads) }
      if let pubsub = domain.pubsub { names.append(pubsub) }
    }
    if let host = publicURL.flatMap(host), !domains.contains(where: { $0.name == host }) { names.append(host) }
    var known = Set<String>()
    return names.map { AsciiDomain.of($0).lowercased() }.filter { known.insert($0).inserted }
  }

  /// Returns the name in a URL of https; nil for others and for addresses.
  private static func host(_ url: String) -> String? {
    guard let host = Host.ofSecureURL(url), host.contains("."), IPAddress(host) == nil else { return nil }
    return host
  }
}
