import Accounts
public import Addresses
public import Basics
public import Dialogs
public import FileStorage
public import Logging
import NIOCore
public import Peers
public import PushServices

/// The configuration of the server, read once and validated as a whole. Nothing else reads the environment, the file or
/// the command line.
public struct Settings: Hashable, Sendable {
  /// A served domain: a realm of users.
  public struct Domain: Hashable, Sendable {
    /// The name in normal form.
    public let name: String
    /// The domain of its rooms.
    public let rooms: String
    /// The domain of its upload service.
    public let uploads: String
    /// The domain of its pubsub service; nil for none.
    public let pubsub: String?
    /// nil for the server's own certificate.
    public let certificate: CertificateFiles?
  }

  /// A certificate chain and its key, as PEM.
  public struct CertificateFiles: Hashable, Sendable {
    public let chain: String
    public let key: String

    package init(chain: String, key: String) {
      self.chain = chain
      self.key = key
    }
  }

  /// The limits and the lifetime of files.
  public struct Uploads: Hashable, Sendable {
    public let bytesMax: Int64
    public let userBytesMax: Int64
    public let userDayBytesMax: Int64
    /// nil for an unlimited lifetime.
    public let lifetime: Duration?
    public let endWithMessages: Bool
    /// Whether thumbnails of pictures are made and large avatars are shrunk.
    public let thumbnails: Bool
    /// The scanner; `nil` to scan nothing.
    public let scan: ScanOptions?
    /// nil if files are in the data folder.
    public let bucket: BucketOptions?
  }

  /// A program beside the server that has users of its own (XEP-0114).
  public struct Component: Hashable, Sendable {
    /// The name in normal form.
    public let name: String
    public let secret: String
    /// The domain to whose users it belongs: the longest of which `name` is a subdomain, otherwise the first.
    public let home: String
    /// The actions that it may perform in the name of that domain's users (XEP-0356).
    public var privileges = Privileges.none
    /// The requests that it answers instead of the server (XEP-0355).
    public var delegated: [Delegation] = []
  }

  /// An address and a port to listen on; port 0 means off.
  public struct Endpoint: Hashable, Sendable {
    public let host: String
    public let port: Int
    public var isOn: Bool { port != 0 }

    package init(host: String, port: Int) {
      self.host = host
      self.port = port
    }
  }

  /// At least one; the first is the key `domain`.
  public let domains: [Domain]
  /// The absolute path of the data folder.
  public let data: String
  /// The data folder of the file where a variable names another one, which decides.
  package let replacedData: Effective?
  /// The endpoint of XMPP with STARTTLS.
  public let xmpp: Endpoint
  /// The endpoint of XMPP over direct TLS.
  public let xmppTLS: Endpoint
  /// Whether logins without TLS are allowed (loopback only).
  public let allowsPlaintext: Bool
  /// Whether the connections of trusted proxies to the ports of clients and servers begin with a header of the PROXY protocol.
  public let readsProxyHeaders: Bool
  public let http: Endpoint
  public let https: Endpoint
  /// Whether the HTTP ports serve the web client at `/`.
  public let servesWebClient: Bool
  /// The public base URL, without a trailing slash.
  public let publicURL: String
  /// Whether the URL is not configured: a client is then better answered with the address that it used.
  public let isPublicURLDerived: Bool
  /// The server's public IP addresses; empty if clients use the DNS.
  public let addresses: [String]
  /// The origins whose web pages may use the HTTP ports besides their own; nil for all.
  public let origins: Set<String>?
  /// The proxies on other machines that are believed what they say about clients.
  public let trustedProxies: [Network]
  /// Whether one network of clients is kept from holding what all share, such as connections before login.
  public let boundsByNetwork: Bool
  /// nil for a self-signed certificate.
  public let certificate: CertificateFiles?
  /// The authority that certifies the domains without a certificate of their own; nil for a self-signed one.
  public let acme: ACME?
  /// nil if uploads are off.
  public let uploads: Uploads?
  /// The settings of the amount that one user may send.
  public let sending: SendingPolicy
  public let allowsRegistration: Bool
  /// The bits of the proof of work of people who register without an invitation or a code; nil if they give none.
  package var registrationProofBits: Int?
  /// The accounts that these people create in an hour from one network.
  public let networkAccountsPerHour: Int
  /// Whether every user may invite others.
  public let allowsInvitations: Bool
  /// The users who may create nodes at the pubsub services.
  public let nodeCreators: PubsubServices.Creators
  /// The policy for users without an account.
  public let guests: GuestPolicy
  /// The systems that authenticate users.
  public let identity: Identity
  /// The version of the terms that users have to accept; nil for none.
  public let terms: String?
  /// The address of the page with the terms; nil for none.
  public let termsURL: String?
  /// The users who may administer the whole server in band.
  public let admins: Set<BareJID>
  /// The time in which a lost XMPP session can be resumed.
  public let resumeWindow: Duration
  public let components: [Component]
  /// The endpoint for components.
  public let component: Endpoint
  /// The endpoint of metrics.
  public let metrics: Endpoint
  /// nil if the server makes no traces.
  public let tracing: Tracing?
  /// nil if there is no federation.
  public let federation: FederationOptions?
  /// The STUN and TURN servers.
  public let services: ExternalServices
  /// The time that calls ring.
  public let callRinging: Duration
  /// The addresses of served domains to which the configuration gives power or authority, each with the key that names
  /// it: `admins`, or one of the contacts.
  public var reservedNames: [BareJID: String] {
    var names: [BareJID: String] = [:]
    for (role, addresses) in contacts {
      for address in addresses.compactMap({ JID(uri: $0)?.bare })
      where address.local != nil && domains.contains(where: { $0.name == address.domain }) {
        names[address] = "contact.\(role)"
      }
    }
    for address in admins { names[address] = Keys.shared.admins.name }
    return names
  }
  /// The contact URIs of the server by role.
  public let contacts: [String: [String]]
  /// The addresses of the file that tells of outages of the server (XEP-0455).
  public let outageAddresses: [String]
  /// The amount of content in pushes.
  public let pushContent: PushContent
  /// The time in which a lost XMPP session can be resumed if a push can wake the client.
  public let pushResumeWindow: Duration
  public let pushes: Pushes
  public let outgoing: Outgoing
  /// The delivery of codes and links.
  public let delivery: Delivery
  /// nil if there is no hook before messages are sent.
  public let beforeSend: BeforeSend?
  public let backups: Backups
  /// The ages at which messages and accounts go.
  public let retention: RetentionPolicy
  /// The absolute path of the Unix socket for admin commands.
  public let adminSocket: String
  public let logLevel: Logger.Level
  public let logFormat: LogFormat
  /// The number of event loops.
  public let threads: Int

  /// Returns the public base URL of a domain: the configured one, otherwise its HTTPS; nil if there is none.
  package func publicURL(of domain: String) -> String? {
    if !isPublicURLDerived { return publicURL }
    return https.isOn ? "https://\(domain)\(https.port == 443 ? "" : ":\(https.port)")" : nil
  }

  /// The host of the public URL, a name or an address, for which browsers and apps expect a certificate; nil if the URL is
  /// not of https, or the HTTPS port is off.
  package var publicHost: String? { https.isOn ? Host.ofSecureURL(publicURL) : nil }

  /// Returns the page of the web client where people create accounts of a domain; nil if there is none. Other domains than
  /// the first are served under their own names.
  package func signUpPage(of domain: Domain) -> String? {
    guard servesWebClient, allowsRegistration else { return nil }
    let own = https.isOn ? "https://\(domain.name)\(https.port == 443 ? "" : ":\(https.port)")" : nil
    return (domain == domains[0] ? pages : own).map { "\($0)/#/register" }
  }

  /// The form of a line of the log: for people, or an object of JSON for programs.
  public enum LogFormat: String, CaseIterable, Sendable { case text, json }

  /// The effective value of a key, as shown by `parley check --print`.
  public struct Effective: Hashable, Sendable, Encodable {
    public let key: String
    public let value: String
    public let origin: String
    /// A digest of the whole value, also of a secret one, which is the same within this process.
    package let fingerprint: Int

    private enum CodingKeys: String, CodingKey { case key, value, origin }

    init(key: String, value: String, origin: String, fingerprint: Int) {
      self.key = key
      self.value = value
      self.origin = origin
      self.fingerprint = fingerprint
    }
  }
  /// All keys in the order of the reference.
  public let effective: [Effective]
  /// The path of the file that was read; nil for none.
  public let file: String?

  /// The base URL of pages for browsers; nil if no HTTP port is open.
  package var pages: String? { https.isOn || http.isOn ? publicURL : nil }
}

/// The configuration on the command line.
public struct SettingsArguments: Sendable {
  /// The value of `--config`.
  public var file: String?
  /// The keys with their values and options, of which later ones override earlier ones.
  public var values: [(key: String, value: String, option: String)]
  /// Whether they are those of the server, which the user of this process runs.
  public var isOfServer = false

  public init(file: String? = nil, values: [(key: String, value: String, option: String)] = []) {
    self.file = file
    self.values = values
  }
}

extension Settings {
  /// Loads file, environment and command line, in ascending priority.
  ///
  /// - Parameter check: Returns further errors of settings that have errors themselves, as of files that they name.
  /// - Throws: All errors at once, as a `StartupError` with status 2.
  public static func load(
    _ arguments: SettingsArguments, environment: [String: String], also check: (Settings) -> [String] = { _ in [] }
  ) throws(StartupError) -> Settings {
    try load(arguments, environment: environment, standardFiles: SettingsFile.standardPaths, also: check)
  }

  package static func load(
    _ arguments: SettingsArguments, environment: [String: String], standardFiles: [String],
    also check: (Settings) -> [String] = { _ in [] }
  ) throws(StartupError) -> Settings {
    var raw = RawSettings()
    let file = configurationFile(arguments, environment, standardFiles)
    if let file { SettingsFile.read(file, isOfServer: arguments.isOfServer, into: &raw) }
    raw.read(environment: environment)
    for (key, value, option) in arguments.values { raw.set(key, value, .commandLine(option)) }

    var reader = SettingsReader(raw)
    let settings = reader.settings(file: file)
    guard reader.errors.isEmpty else {
      throw StartupError(lines: StartupError(reader.errors).lines + check(settings), .usage)
    }
    return settings
  }

  /// The variable that names the configuration file.
  package static let fileVariable = RawSettings.fileVariable

  /// Returns the path of the configuration file; nil for none.
  package static func configurationFile(_ arguments: SettingsArguments, environment: [String: String]) -> String? {
    configurationFile(arguments, environment, SettingsFile.standardPaths)
  }

  private static func configurationFile(
    _ arguments: SettingsArguments, _ environment: [String: String], _ standardFiles: [String]
  ) -> String? {
    let named = arguments.file ?? environment[RawSettings.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
    // A folder that this user must not enter may have the file: the defaults in its place would be those of another server.
    return named ?? standardFiles.first { (try? Files.isMissing($0)) != true }
  }
}

/// Converts raw values to settings, and collects the errors.
struct SettingsReader {
  let keys = Keys.shared
  let raw: RawSettings
  var errors: [ConfigurationError]
  private var effective: [String: Settings.Effective] = [:]

  init(_ raw: RawSettings) {
    self.raw = raw
    self.errors = raw.errors
  }

  mutating func settings(file: String?) -> Settings {
    let data = read(keys.data)
    let xmppHost = read(keys.xmppHost)
    let xmpp = Settings.Endpoint(host: xmppHost, port: read(keys.xmppPort))
    let xmppTLS = Settings.Endpoint(host: xmppHost, port: read(keys.xmppTLSPort))
    let plaintext = read(keys.xmppPlaintext)
    if plaintext { checkLoopback(xmppHost) }
    let http = Settings.Endpoint(host: read(keys.httpHost), port: read(keys.httpPort))
    let https = Settings.Endpoint(host: read(keys.httpsHost), port: read(keys.httpsPort))
    let domains = readDomains()
    let components = readComponents(domains)
    let componentPort = read(keys.componentPort)
    let component = Settings.Endpoint(host: read(keys.componentHost), port: components.isEmpty ? 0 : componentPort)
    let metrics = Settings.Endpoint(host: read(keys.metricsHost), port: read(keys.metricsPort))
    let federation = self.federation(among: domains)
    let servers = Settings.Endpoint(host: federation?.host ?? "::", port: federation?.port ?? 0)
    let serversTLS = Settings.Endpoint(host: servers.host, port: federation?.tlsPort ?? 0)
    checkPorts([
      (keys.xmppPort, xmpp), (keys.xmppTLSPort, xmppTLS), (keys.httpPort, http), (keys.httpsPort, https),
      (keys.componentPort, component), (keys.federationPort, servers), (keys.federationTLSPort, serversTLS),
      (keys.metricsPort, metrics),
    ])
    let publicURL = self.publicURL(domain: domains.first?.name ?? "localhost", http: http, https: https)
    let certificate = certificateFiles()
    let uploads = self.uploads()
    return Settings(
      domains: domains, data: data, replacedData: replacedData(by: data),
      xmpp: xmpp, xmppTLS: xmppTLS, allowsPlaintext: plaintext, readsProxyHeaders: read(keys.xmppProxyProtocol),
      http: http, https: https, servesWebClient: read(keys.webClient),
      publicURL: publicURL, isPublicURLDerived: raw.values[keys.httpURL.name] == nil,
      addresses: addresses(), origins: origins(), trustedProxies: networks(keys.httpTrustedProxies),
      boundsByNetwork: read(keys.boundsByNetwork),
      certificate: certificate,
      acme: acme(
        for: domains, certificate: certificate, http: http, https: https, publicURL: publicURL,
        hasUploads: uploads != nil),
      uploads: uploads,
      sending: sending(among: domains),
      allowsRegistration: read(keys.registration),
      registrationProofBits: read(keys.signupProof) ? AccountLimits.proofBits : nil,
      networkAccountsPerHour: read(keys.signupNetworkHour),
      allowsInvitations: read(keys.invitations), nodeCreators: read(keys.pubsubCreate),
      guests: guests(among: domains),
      identity: identity(among: domains),
      terms: terms(), termsURL: termsURL(),
      admins: admins(among: domains),
      resumeWindow: read(keys.resumeSeconds),
      components: components, component: component, metrics: metrics, tracing: tracing(), federation: federation,
      services: externalServices(), callRinging: read(keys.callsRingSeconds),
      contacts: contacts(), outageAddresses: outageAddresses(),
      pushContent: read(keys.pushContent), pushResumeWindow: read(keys.pushResumeSeconds),
      pushes: pushes(domain: domains.first?.name ?? "localhost", publicURL: publicURL),
      outgoing: outgoing(), delivery: delivery(), beforeSend: beforeSend(),
      backups: backups(data: data, uploads), retention: retention(among: domains, uploads),
      adminSocket: adminSocket(data: data),
      logLevel: read(keys.logLevel), logFormat: read(keys.logFormat), threads: threads(),
      effective: Keys.all.compactMap { effective[$0.name] },
      file: file)
  }

  /// Refuses to take passwords without TLS from other machines.
  private mutating func checkLoopback(_ host: String) {
    if Host.isLoopback(host) { return }
    reject(
      keys.xmppPlaintext, "passwords would cross the network unencrypted; set xmpp.host to 127.0.0.1 or ::1")
  }

  // MARK: Single values

  /// Returns the value of a key, written or by default.
  mutating func read<Value>(_ key: Key<Value>) -> Value {
    let written = raw.values[key.name]
    let text = written?.text ?? key.fallback ?? ""
    note(key, text, written?.origin ?? .standard)
    let (value, error) = key.parse(text)
    if let error { reject(key, error) }
    return value
  }

  /// Notes the effective value of a key.
  mutating func note(_ key: any AnyKey, _ text: String, _ origin: Origin) {
    effective[key.name] = Settings.Effective(
      key: key.name, value: key.shown(text), origin: origin.description, fingerprint: text.hashValue)
  }

  /// Records an error in the value of a key.
  mutating func reject(_ key: any AnyKey, _ text: String) {
    let value = raw.values[key.name]
    errors.append(
      ConfigurationError(
        key: key.name, value: key.shown(value?.text ?? key.fallback ?? ""), origin: value?.origin ?? .standard, text))
  }

  /// Records that requests to a URL cannot be signed, and how a secret for them is made.
  mutating func rejectSecret(_ key: any AnyKey, of url: any AnyKey) {
    reject(
      key,
      "\(url.name) is set, and requests to it are signed with this secret: whsec_ and 24 to 64 random bytes in base64 "
        + "are expected; to make one: echo whsec_$(openssl rand -base64 32)")
  }

  /// Returns users of served domains.
  private mutating func admins(among domains: [Settings.Domain]) -> Set<BareJID> {
    var addresses: Set<BareJID> = []
    for written in read(keys.admins) {
      guard let address = BareJID(parsing: written), address.local != nil else {
        reject(keys.admins, "'\(Line.safe(written))' is not a user's address such as alice@example.org")
        continue
      }
      guard domains.contains(where: { $0.name == address.domain }) else {
        reject(keys.admins, "\(address.domain) is not served here")
        continue
      }
      addresses.insert(address)
    }
    return addresses
  }

  // MARK: Dependent values

  private mutating func threads() -> Int {
    guard raw.values[keys.threads.name] != nil else {
      let count = Threads.available()
      note(keys.threads, String(count), .derived)
      return count
    }
    return read(keys.threads)
  }

  private func replacedData(by data: String) -> Settings.Effective? {
    guard case .environment? = raw.values[keys.data.name]?.origin, let written = raw.replaced[keys.data.name],
      Files.absolute(written.text) != data
    else { return nil }
    return Settings.Effective(
      key: keys.data.name, value: written.text, origin: written.origin.description, fingerprint: written.text.hashValue)
  }

  private mutating func adminSocket(data: String) -> String {
    let path: String
    if raw.values[keys.adminSocket.name] == nil {
      path = data + "/admin.sock"
      note(keys.adminSocket, path, .derived)
    } else {
      path = read(keys.adminSocket)
    }
    if path.utf8.count > ConfigurationLimits.socketPathBytesMax {
      errors.append(
        ConfigurationError(
          key: keys.adminSocket.name, value: path,
          origin: raw.values[keys.adminSocket.name]?.origin ?? raw.values[keys.data.name]?.origin ?? .derived,
          "a socket's path has at most \(ConfigurationLimits.socketPathBytesMax) bytes, this one has \(path.utf8.count); "
            + "set admin.socket to a shorter one"))
    }
    return path
  }

  private mutating func certificateFiles() -> Settings.CertificateFiles? {
    let chain = read(keys.tlsCertificate)
    let key = read(keys.tlsKey)
    switch (chain.isEmpty, key.isEmpty) {
    case (true, true):
      note(keys.tlsCertificate, "self-signed", .standard)
      note(keys.tlsKey, "", .standard)
      return nil
    case (false, false):
      return Settings.CertificateFiles(chain: chain, key: key)
    case (false, true):
      reject(keys.tlsCertificate, "tls.key must be set as well")
      return nil
    case (true, false):
      reject(keys.tlsKey, "tls.certificate must be set as well")
      return nil
    }
  }

  private mutating func publicURL(domain: String, http: Settings.Endpoint, https: Settings.Endpoint) -> String {
    guard raw.values[keys.httpURL.name] != nil else {
      let secure = https.isOn
      let port = secure ? https.port : http.port
      let isUsual = port == (secure ? 443 : 80) || port == 0
      let url = "\(secure ? "https" : "http")://\(domain)\(isUsual ? "" : ":\(port)")"
      note(keys.httpURL, url, .derived)
      return url
    }
    var url = read(keys.httpURL)
    while url.hasSuffix("/") { url.removeLast() }
    let rest = url.hasPrefix("https://") ? url.dropFirst(8) : url.hasPrefix("http://") ? url.dropFirst(7) : ""
    if rest.isEmpty || rest.hasPrefix("/") || rest.contains(where: { $0.isWhitespace || "@?#\"<>\\".contains($0) }) {
      reject(keys.httpURL, "a URL such as https://chat.example.org is expected")
    }
    return url
  }

  private mutating func addresses() -> [String] {
    let names = read(keys.httpAddresses).split(separator: ",").map(\.trimmed)
    for name in names where (try? SocketAddress(ipAddress: name, port: 0)) == nil {
      reject(keys.httpAddresses, "\(name) is not an IP address")
    }
    return names
  }

  private mutating func origins() -> Set<String>? {
    let written = read(keys.httpOrigins)
    if written == ["*"] { return nil }
    for origin in written where !Self.isOrigin(origin) {
      reject(
        keys.httpOrigins,
        "\(Line.safe(origin)) is not an origin such as https://chat.example.org; * must be the only entry")
    }
    return Set(written)
  }

  /// Whether a text is an origin as browsers write it: scheme, host and perhaps a port (RFC 6454 6.2).
  private static func isOrigin(_ text: String) -> Bool {
    guard let scheme = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) }) else { return false }
    let rest = text.dropFirst(scheme.count)
    return !rest.isEmpty && !rest.contains { $0.isWhitespace || "/@?#\"<>\\".contains($0) }
  }

  /// Reports two listeners on one port of overlapping addresses, of which the second would fail at the start.
  private mutating func checkPorts(_ endpoints: [(key: Key<Int>, endpoint: Settings.Endpoint)]) {
    for (index, (key, endpoint)) in endpoints.enumerated() where endpoint.isOn {
      for (other, earlier) in endpoints[..<index]
      where earlier.port == endpoint.port && Host.overlap(earlier.host, endpoint.host) {
        reject(key, "\(other.name) has the same port")
      }
    }
    if !endpoints.contains(where: { $0.endpoint.isOn && $0.key.name != keys.metricsPort.name }) {
      reject(keys.xmppPort, "every port is turned off: the server could not be reached")
    }
  }

  // MARK: Domains

  private mutating func readDomains() -> [Settings.Domain] {
    let template = read(keys.roomsDomain)
    let uploadsTemplate = read(keys.uploadsDomain)
    let (hasPubsub, pubsubTemplate) = (read(keys.pubsubEnabled), read(keys.pubsubDomain))
    let firstName = read(keys.domain)
    var entries = raw.domains
    // The list may contain the first domain, for its certificate.
    let firstNormal = Host.domain(firstName)
    let own = entries.firstIndex { Host.domain($0.fields["name"]?.text ?? "") == firstNormal && firstNormal != nil }
    let first: RawSettings.DomainEntry
    if let own {
      first = entries.remove(at: own)
    } else {
      let value = RawSettings.Value(text: firstName, origin: raw.values[keys.domain.name]?.origin ?? .standard)
      first = RawSettings.DomainEntry(fields: ["name": value], origin: value.origin)
    }
    if entries.count >= ConfigurationLimits.domainsMax {
      errors.append(
        ConfigurationError(
          key: keys.domains.name, value: "\(entries.count) domains", origin: entries[0].origin,
          "at most \(ConfigurationLimits.domainsMax) can be set"))
      return []
    }
    note(
      keys.domains, entries.map { $0.fields["name"]?.text ?? "" }.joined(separator: ", "),
      entries.first?.origin ?? .standard)

    var domains: [Settings.Domain] = []
    for (index, entry) in ([first] + entries).enumerated() {
      let keyName = index == 0 && own == nil ? keys.domain.name : keys.domains.name + ".name"
      guard let written = entry.fields["name"], let name = Host.domain(written.text) else {
        errors.append(
          ConfigurationError(
            key: keyName, value: entry.fields["name"]?.text, origin: entry.fields["name"]?.origin ?? entry.origin,
            "a domain name is expected"))
        continue
      }
      let domain = Settings.Domain(
        name: name, rooms: subdomain(of: name, entry, "rooms", keys.roomsDomain, template, "conference"),
        uploads: subdomain(of: name, entry, "uploads", keys.uploadsDomain, uploadsTemplate, "upload"),
        pubsub: hasPubsub ? subdomain(of: name, entry, "pubsub", keys.pubsubDomain, pubsubTemplate, "pubsub") : nil,
        certificate: domainCertificate(entry))
      let taken = domains.flatMap { [$0.name, $0.rooms, $0.uploads] + ($0.pubsub.map { [$0] } ?? []) }
      checkClash(of: domain, entry, written, keyName, with: taken)
      domains.append(domain)
    }
    return domains
  }

  /// Refuses a domain if its own name or that of one of its services is one that is served already.
  private mutating func checkClash(
    of domain: Settings.Domain, _ entry: RawSettings.DomainEntry, _ written: RawSettings.Value, _ keyName: String,
    with taken: [String]
  ) {
    let name = domain.name
    if let pubsub = domain.pubsub, !taken.contains(name),
      (taken + [name, domain.rooms, domain.uploads]).contains(pubsub)
    {
      errors.append(
        ConfigurationError(
          key: keys.pubsubDomain.name, value: pubsub,
          origin: entry.fields["pubsub"]?.origin ?? raw.values[keys.pubsubDomain.name]?.origin ?? .standard,
          "this server already uses the domain"))
    }
    if !taken.contains(name), taken.contains(domain.uploads) || [name, domain.rooms].contains(domain.uploads) {
      errors.append(
        ConfigurationError(
          key: keys.uploadsDomain.name, value: domain.uploads,
          origin: entry.fields["uploads"]?.origin ?? raw.values[keys.uploadsDomain.name]?.origin ?? .standard,
          "this server already uses the domain"))
    }
    if taken.contains(name) || taken.contains(domain.rooms) || domain.rooms == name {
      let isName = taken.contains(name)
      errors.append(
        ConfigurationError(
          key: isName ? keyName : keys.roomsDomain.name, value: isName ? name : domain.rooms,
          origin: isName
            ? written.origin
            : entry.fields["rooms"]?.origin ?? raw.values[keys.roomsDomain.name]?.origin ?? .standard,
          "this server already uses the domain"))
    }
  }

  /// Returns a service's domain: from the domain's element, or from the template.
  private mutating func subdomain(
    of name: String, _ entry: RawSettings.DomainEntry, _ field: String, _ key: any AnyKey, _ template: String,
    _ fallback: String
  ) -> String {
    let written = entry.fields[field]
    let text = written?.text ?? template.replacing("{domain}", with: name)
    if let domain = Host.domain(text) { return domain }
    errors.append(
      ConfigurationError(
        key: written == nil ? key.name : "domains.\(field)", value: written?.text ?? template,
        origin: written?.origin ?? raw.values[key.name]?.origin ?? .standard,
        "a domain name is expected; {domain} stands for the domain"))
    return "\(fallback).\(name)"
  }

  private mutating func domainCertificate(_ entry: RawSettings.DomainEntry) -> Settings.CertificateFiles? {
    switch (entry.fields["certificate"], entry.fields["key"]) {
    case (nil, nil): return nil
    case (.some(let chain), .some(let key)):
      return Settings.CertificateFiles(chain: Files.absolute(chain.text), key: Files.absolute(key.text))
    case (.some(let one), nil), (nil, .some(let one)):
      errors.append(
        ConfigurationError(
          key: "domains." + (entry.fields["certificate"] == nil ? "key" : "certificate"), value: one.text,
          origin: one.origin, "set both certificate and key, or neither"))
      return nil
    }
  }
}
