import Basics
public import IdentityTokens

extension Settings {
  /// The systems that authenticate users.
  public struct Identity: Hashable, Sendable {
    public struct Backing: Hashable, Sendable {
      /// The backend without the keys in `keyFiles`.
      public let tokens: Backend
      /// The files of public keys in PEM.
      public let keyFiles: [String]
    }
    public let backends: [Backing]
    public let providers: [Provider]
    /// The providers without ID tokens.
    public let codes: [CodeProvider]
  }
}

extension SettingsReader {
  mutating func identity(among domains: [Settings.Domain]) -> Settings.Identity {
    var backends: [Settings.Identity.Backing] = []
    for entry in entries(keys.identityBackends) {
      var reader = IdentitySourceReader(entry, keys.identityBackends, domains)
      if let backend = reader.backend(after: backends) { backends.append(backend) }
      errors += reader.errors
    }
    var providers: [Provider] = []
    for entry in entries(keys.identityProviders) {
      var reader = IdentitySourceReader(entry, keys.identityProviders, domains)
      if let provider = reader.provider(after: providers) { providers.append(provider) }
      errors += reader.errors
    }
    var codes: [CodeProvider] = []
    for entry in entries(keys.identityCodes) {
      var reader = IdentitySourceReader(entry, keys.identityCodes, domains)
      if let provider = reader.codeProvider(after: codes, providers) { codes.append(provider) }
      errors += reader.errors
    }
    return Settings.Identity(backends: backends, providers: providers, codes: codes)
  }

  /// Returns the elements of a list and notes their names only as its effective value.
  private mutating func entries(_ key: Key<Void>) -> [RawSettings.DomainEntry] {
    let entries = raw.entries[key.name] ?? []
    note(
      key, entries.map { $0.fields["name"]?.text ?? "" }.joined(separator: ", "), entries.first?.origin ?? .standard)
    guard entries.count <= ConfigurationLimits.identitySourcesMax else {
      errors.append(
        ConfigurationError(
          key: key.name, value: "\(entries.count) entries", origin: entries[0].origin,
          "at most \(ConfigurationLimits.identitySourcesMax) can be set"))
      return []
    }
    return entries
  }
}

/// Reads one element of `identity.backends`, `identity.providers` or `identity.codes`.
private struct IdentitySourceReader {
  private let entry: RawSettings.DomainEntry
  private let key: Key<Void>
  private let domains: [Settings.Domain]
  private(set) var errors: [ConfigurationError] = []

  init(_ entry: RawSettings.DomainEntry, _ key: Key<Void>, _ domains: [Settings.Domain]) {
    self.entry = entry
    self.key = key
    self.domains = domains
  }

  mutating func backend(after others: [Settings.Identity.Backing]) -> Settings.Identity.Backing? {
    let name = entry.fields["name"]?.text.trimmed ?? ""
    if name.isEmpty { reject("name", "the iss of its tokens is expected") }
    let (secrets, files) = (list("secrets"), list("keys").map { Files.absolute($0) })
    if secrets.contains(where: { $0.utf8.count < IdentityLimits.secretBytesMin }) {
      reject("secrets", "a secret has at least \(IdentityLimits.secretBytesMin) bytes")
    }
    let keySet = url("jwks")
    if secrets.isEmpty, files.isEmpty, entry.fields["jwks"] == nil {
      reject("secrets", "\(name) needs secrets, keys or jwks")
    }
    if secrets.count + files.count > IdentityLimits.backendKeysMax {
      reject("secrets", "at most \(IdentityLimits.backendKeysMax) secrets and keys can be set")
    }
    let backend = Backend(
      name: name, domain: domain(), secrets: secrets.map { Array($0.utf8) }, keySet: keySet,
      admitsNewcomers: flag("signup", true))
    if others.contains(where: { $0.tokens.name == name && $0.tokens.domain == backend.domain }) {
      reject("name", "\(backend.domain) has a backend of this name already")
    }
    return errors.isEmpty ? Settings.Identity.Backing(tokens: backend, keyFiles: files) : nil
  }

  /// Returns the provider's name, which clients send.
  private mutating func providerName() -> String {
    let name = entry.fields["name"]?.text.trimmed ?? ""
    let isName =
      (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
    if !isName {
      reject("name", "1 to 32 small letters, digits or hyphens are expected: it is stored with its users")
    }
    return name
  }

  mutating func codeProvider(after others: [CodeProvider], _ providers: [Provider]) -> CodeProvider? {
    let name = providerName()
    func text(_ field: String) -> String { entry.fields[field]?.text.trimmed ?? "" }
    for (field, what) in [
      ("client_id", "the app's id at the provider is expected"),
      ("client_secret", "the app's secret is expected"), ("token_url", "the URL that redeems codes is expected"),
      ("user_url", "the URL that returns the user of a token is expected"),
    ] where text(field).isEmpty { reject(field, what) }
    let (tokenURL, userURL) = (url("token_url") ?? "", url("user_url") ?? "")
    let redirects = list("redirects")
    if redirects.isEmpty { reject("redirects", "the URIs to which the provider sends codes for the app are expected") }
    func path(_ field: String, _ standard: [String]) -> [String] {
      text(field).isEmpty ? standard : text(field).split(separator: ".").map(String.init)
    }
    let provider = CodeProvider(
      name: name, domain: domain(), clientID: text("client_id"), clientSecret: text("client_secret"),
      authorizationURL: url("authorize_url"), scope: text("scope").isEmpty ? nil : text("scope"), tokenURL: tokenURL,
      userURL: userURL, subject: path("subject", ["id"]), displayName: path("display_name", []),
      redirectURIs: redirects, admitsNewcomers: flag("signup", true))
    if others.contains(where: { $0.name == name && $0.domain == provider.domain })
      || providers.contains(where: { $0.name == name && $0.domain == provider.domain })
    {
      reject("name", "\(provider.domain) has a provider of this name already")
    }
    return errors.isEmpty ? provider : nil
  }

  mutating func provider(after others: [Provider]) -> Provider? {
    let name = providerName()
    let (issuers, audiences) = (list("issuers"), list("audiences"))
    if audiences.isEmpty { reject("audiences", "the app's ids at the provider (aud of its tokens) are expected") }
    if issuers.isEmpty { reject("issuers", "the iss of its tokens is expected") }
    let keySet = url("jwks")
    if keySet == nil, let first = issuers.first, !Self.isSafe(first) {
      reject("issuers", "without jwks the keys are requested from the first issuer, which must be an https URL")
    }
    let provider = Provider(
      name: name, domain: domain(), issuers: issuers, audiences: audiences, keySet: keySet,
      admitsNewcomers: flag("signup", true), needsNonce: flag("nonce", false), provesContacts: flag("contacts", true))
    if others.contains(where: { $0.name == name && $0.domain == provider.domain }) {
      reject("name", "\(provider.domain) has a provider of this name already")
    }
    return errors.isEmpty ? provider : nil
  }

  /// Records an error in a field.
  private mutating func reject(_ field: String, _ text: String) {
    errors.append(
      ConfigurationError(
        key: "\(key.name).\(field)",
        value: key.form.secrets.contains(field) ? nil : entry.fields[field]?.text,
        origin: entry.fields[field]?.origin ?? entry.origin, text))
  }

  private func list(_ field: String) -> [String] {
    guard let value = entry.fields[field] else { return [] }
    let items = value.items ?? value.text.split(separator: ",").map { String($0) }
    return items.map(\.trimmed).filter { !$0.isEmpty }
  }

  private mutating func domain() -> String {
    guard let written = entry.fields["domain"]?.text else { return domains.first?.name ?? "localhost" }
    guard let name = Host.domain(written), domains.contains(where: { $0.name == name }) else {
      reject("domain", "it is not served here")
      return written
    }
    return name
  }

  private mutating func flag(_ field: String, _ standard: Bool) -> Bool {
    switch entry.fields[field]?.text.lowercased() {
    case nil: return standard
    case "true", "yes", "on": return true
    case "false", "no", "off": return false
    default:
      reject(field, "true or false is expected")
      return standard
    }
  }

  private mutating func url(_ field: String) -> String? {
    guard let written = entry.fields[field]?.text.trimmed, !written.isEmpty else { return nil }
    if !Self.isSafe(written) { reject(field, "an https URL is expected") }
    return written
  }

  /// Whether keys cannot be tampered with in transit, which would allow forged tokens: HTTPS, or a server on this
  /// machine.
  private static func isSafe(_ url: String) -> Bool {
    if url.hasPrefix("https://") { return true }
    let rest = url.hasPrefix("http://") ? url.dropFirst("http://".count) : ""
    return ["localhost", "127.0.0.1", "[::1]"].contains { host in
      rest.hasPrefix(host) && [nil, ":", "/"].contains(rest.dropFirst(host.count).first)
    }
  }
}
