import Basics
import Crypto
import Glibc
public import HTTPPort
public import Logging
import NIOCore
public import NIOSSL
public import ServerConfiguration
import Synchronization

/// The certificates of all domains, selected by the client's server name (SNI) and reloaded when their files change:
/// new handshakes use the new ones, established connections are unaffected.
///
/// A pair that cannot be read after a change leaves the previous one in use: renewal tools write two files, which do
/// not match in between.
public final class Certificates: Sendable {
  /// One chain with its key.
  struct Pair: Sendable {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey
    let expires: Int
    let files: Settings.CertificateFiles
    /// The number of previous reads, which tells whether a context is current.
    let generation: Int
  }

  private struct Source: Sendable {
    /// A domain and its rooms domain.
    let names: [String]
    let files: Settings.CertificateFiles
  }

  private struct State: Sendable {
    var settings: Settings
    var sources: [Source] = []
    /// The pairs by normalised domain, including rooms domains.
    var pairs: [String: Pair] = [:]
    var digests: [Settings.CertificateFiles: FileDigests] = [:]
    var fallback: Pair
    var generation: Int
  }

  /// The digests of the files' contents, which identify a version even if the clock stood still or a link was moved;
  /// nil for an unreadable file.
  private struct FileDigests: Hashable, Sendable {
    let chain: [UInt8]?
    let key: [UInt8]?
  }

  /// The folder of the self-signed certificate.
  private let folder: String
  private let state: Mutex<State>
  private let logger: Logger

  /// Reads all certificates, and creates the self-signed one if a domain needs it.
  ///
  /// - Throws: With status 2 if a configured file is unusable, with status 1 if the self-signed certificate cannot be
  ///   created.
  public init(_ settings: Settings, folder: String, logger: Logger) throws(StartupError) {
    self.logger = logger
    self.folder = folder
    self.state = Mutex(try Self.load(settings, folder, generation: 0, logger))
  }

  /// Uses the certificate that an ACME authority has just issued. On failure the previous one stays in use.
  func issued() throws(StartupError) { try reload(state.withLock { $0.settings }) }

  /// Reloads the certificates of changed settings, which may name other files. On failure the previous ones stay in
  /// use.
  public func reload(_ settings: Settings) throws(StartupError) {
    let generation = state.withLock { $0.generation + 1 }
    let loaded = try Self.load(settings, folder, generation: generation, logger)
    state.withLock { $0 = loaded }
  }

  private static func load(
    _ settings: Settings, _ folder: String, generation: Int, _ logger: Logger
  ) throws(StartupError) -> State {
    let selfSigned = Settings.CertificateFiles(
      chain: SelfSigned.chainPath(folder), key: SelfSigned.keyPath(folder))
    var sources: [Source] = []
    var selfSignedNames: [String] = []
    let issued = settings.acme.flatMap { _ in IssuedCertificate.read(folder) }
    let issuedFile = IssuedCertificate.path(folder)
    for domain in settings.domains {
      let names = [domain.name, domain.rooms]
      var files = domain.certificate ?? settings.certificate
      // A domain that the authority did not certify keeps the certificate that its users may have accepted.
      if files == nil, issued?.covers([CertificateNames.ascii(domain.name)]) == true {
        files = Settings.CertificateFiles(chain: issuedFile, key: issuedFile)
      }
      if files == nil { selfSignedNames += names }
      sources.append(Source(names: names, files: files ?? selfSigned))
    }
    // A client that asks for a name which is of no domain gets the certificate of the first one.
    let host = selfSignedNames.first == settings.domains[0].name ? settings.publicHost : nil
    if !selfSignedNames.isEmpty, try SelfSigned.prepare(in: folder, names: selfSignedNames, host: host) {
      logger.notice("made a self-signed certificate", metadata: ["file": "\(selfSigned.chain)"])
    }
    var pairs: [String: Pair] = [:]
    var digests: [Settings.CertificateFiles: FileDigests] = [:]
    var read: [Settings.CertificateFiles: Pair] = [:]
    var wrong: [String] = []
    for source in sources {
      do throws(Unusable) {
        if digests[source.files] == nil {
          digests[source.files] = Self.digests(source.files)
          let pair = try Self.read(source.files, generation: generation)
          read[source.files] = pair
          warnIfExpired(pair, source.files, logger)
        }
        for name in source.names { pairs[name] = read[source.files] }
      } catch {
        wrong.append(error.text)
      }
    }
    guard wrong.isEmpty, let first = sources.first.flatMap({ read[$0.files] }) else {
      throw StartupError(lines: wrong, .usage)
    }
    return State(
      settings: settings, sources: sources, pairs: pairs, digests: digests, fallback: first, generation: generation)
  }

  /// Checks the configured files without using them.
  ///
  /// - Returns: A line for each unusable file.
  public static func check(_ settings: Settings) -> [String] {
    let files = Set([settings.certificate].compactMap { $0 } + settings.domains.compactMap(\.certificate))
    let flaw = settings.acme?.external.flatMap { IssuanceFiles.flaw(in: $0) }
    let unusable = files.sorted { $0.chain < $1.chain }.compactMap { files -> String? in
      do throws(Unusable) {
        _ = try read(files, generation: 0)
        return nil
      } catch {
        return error.text
      }
    }
    return unusable + (flaw.map { [$0] } ?? [])
  }

  /// Returns a provider like `context`, with a context per certificate, for callers that need to know which certificate
  /// a connection got. A resumed session (RFC 8446 2.2) therefore has the certificate that it began with, even after a
  /// renewal. `keyLog` receives the connections' secrets.
  public func identities(
    protocols: [String], keyLog: @escaping NIOSSLKeyLogCallback
  ) throws(StartupError) -> TLSProvider {
    let identities = Identities(protocols: protocols, keyLog: keyLog)
    _ = try identities.identity(of: pair(for: nil))
    return { [self] host in
      do throws(StartupError) { return try identities.identity(of: pair(for: host)) } catch {
        for line in error.lines { logger.error("\(line)") }
        return nil
      }
    }
  }

  /// The contexts per certificate, created at the first connection that needs them; those of replaced certificates are
  /// dropped.
  private final class Identities: Sendable {
    private let protocols: [String]
    private let keyLog: NIOSSLKeyLogCallback
    private let made = Mutex<[Settings.CertificateFiles: (generation: Int, identity: TLSIdentity)]>([:])

    init(protocols: [String], keyLog: @escaping NIOSSLKeyLogCallback) {
      self.protocols = protocols
      self.keyLog = keyLog
    }

    func identity(of pair: Pair) throws(StartupError) -> TLSIdentity {
      if let known = made.withLock({ $0[pair.files] }), known.generation == pair.generation { return known.identity }
      var configuration = Certificates.configuration(pair)
      configuration.applicationProtocols = protocols
      configuration.keyLogCallback = keyLog
      let context: NIOSSLContext
      do { context = try NIOSSLContext(configuration: configuration) } catch {
        throw StartupError("TLS cannot be set up: \(error)")
      }
      let endPoint = (try? pair.chain.first?.toDERBytes()).flatMap(EndPoint.binding)
      let identity = TLSIdentity(context: context, endPoint: endPoint)
      // If two are created concurrently, both are used, and the later one is kept.
      made.withLock { $0[pair.files] = (pair.generation, identity) }
      return identity
    }
  }

  /// Returns the server's TLS context for a listener with TLS 1.2 and 1.3; `protocols` are its ALPN names.
  public func context(protocols: [String]) throws(StartupError) -> NIOSSLContext {
    let first = state.withLock { $0.fallback }
    var configuration = Self.configuration(first)
    configuration.applicationProtocols = protocols
    configuration.sslContextCallback = { [self] asked, promise in
      let pair = pair(for: asked.serverHostname)
      if pair.generation == first.generation, pair.chain == first.chain { return promise.succeed(.noChanges) }
      var change = NIOSSLContextConfigurationOverride()
      change.certificateChain = pair.chain.map { .certificate($0) }
      change.privateKey = .privateKey(pair.key)
      promise.succeed(change)
    }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw StartupError("TLS cannot be set up: \(error)")
    }
  }

  /// Reloads changed files. Called by the poll, never on an event loop.
  public func refresh() {
    let (sources, known, generation) = state.withLock { ($0.sources, $0.digests, $0.generation + 1) }
    for files in Set(sources.map(\.files)) {
      let digests = Self.digests(files)
      if known[files] == digests { continue }
      do throws(Unusable) {
        let pair = try Self.read(files, generation: generation)
        state.withLock { state in
          for source in state.sources where source.files == files {
            for name in source.names { state.pairs[name] = pair }
          }
          if state.sources.first?.files == files { state.fallback = pair }
          state.digests[files] = digests
          state.generation = generation
        }
        logger.notice("read the certificate again", metadata: ["file": "\(files.chain)"])
        Self.warnIfExpired(pair, files, logger)
      } catch {
        // The error is logged once per state of the files, not at every poll.
        state.withLock { $0.digests[files] = digests }
        logger.error("the changed certificate is not used", metadata: ["reason": "\(error.text)"])
      }
    }
  }

  /// Returns the chain that a client with this server name would get now.
  func current(for host: String?) -> [NIOSSLCertificate] { pair(for: host).chain }

  /// The certificates that clients get now, each once, in the order of the domains.
  public var served: [ServedCertificate] {
    let (sources, pairs) = state.withLock { ($0.sources, $0.pairs) }
    var order: [Settings.CertificateFiles] = []
    var domains: [Settings.CertificateFiles: [String]] = [:]
    for source in sources {
      if domains[source.files] == nil { order.append(source.files) }
      domains[source.files, default: []] += source.names.prefix(1)
    }
    return order.compactMap { files in
      guard let domains = domains[files], let leaf = domains.first.flatMap({ pairs[$0] })?.chain.first else {
        return nil
      }
      let origin: ServedCertificate.Origin =
        switch files.chain {
        case SelfSigned.chainPath(folder): .selfSigned
        case IssuedCertificate.path(folder): .acme
        default: .file
        }
      return ServedCertificate(leaf, domains: domains, file: files.chain, origin: origin)
    }
  }

  /// The time at which the first of the certificates expires that clients get, in seconds since 1970.
  public var firstExpiry: Int { state.withLock { $0.pairs.values.map(\.expires).min() ?? $0.fallback.expires } }

  private func pair(for host: String?) -> Pair {
    let name = host.flatMap(Host.domain)
    return state.withLock { state in name.flatMap { state.pairs[$0] } ?? state.fallback }
  }

  /// Returns the pair that streams between servers present for one of this server's domains: its own, else that of the
  /// nearest domain above it (uploads, pubsub, components), else the first.
  func pair(ofServed local: String) -> Pair {
    state.withLock { state in
      var domain = local[...]
      while true {
        if let pair = state.pairs[String(domain)] { return pair }
        guard let dot = domain.firstIndex(of: ".") else { return state.fallback }
        domain = domain[domain.index(after: dot)...]
      }
    }
  }

  private static func warnIfExpired(_ pair: Pair, _ files: Settings.CertificateFiles, _ logger: Logger) {
    guard pair.expires < time(nil) else { return }
    logger.warning(
      "the certificate has expired",
      metadata: ["file": "\(files.chain)", "advice": "renew it; changed files are read without a restart"])
  }

  private static func digests(_ files: Settings.CertificateFiles) -> FileDigests {
    FileDigests(chain: digest(files.chain), key: digest(files.key))
  }

  private static func digest(_ path: String) -> [UInt8]? {
    (try? Files.read(path, bytesMax: CertificateLimits.fileBytesMax)).map { Array(SHA256.hash(data: $0)) }
  }

  static func configuration(_ pair: Pair) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: pair.chain.map { .certificate($0) }, privateKey: .privateKey(pair.key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.shutdownTimeout = CertificateLimits.tlsCloseWait
    return configuration
  }

  private struct Unusable: Error { let text: String }

  private static func read(_ files: Settings.CertificateFiles, generation: Int) throws(Unusable) -> Pair {
    let chainBytes = try bytes(files.chain, "certificate")
    let keyBytes = try bytes(files.key, "private key")
    let chain: [NIOSSLCertificate]
    do { chain = try NIOSSLCertificate.fromPEMBytes(chainBytes) } catch {
      throw Unusable(text: "the certificate \(files.chain) holds no certificate as PEM")
    }
    guard let leaf = chain.first else {
      throw Unusable(text: "the certificate \(files.chain) holds no certificate as PEM")
    }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(bytes: keyBytes, format: .pem) } catch {
      throw Unusable(text: "the private key \(files.key) is no unencrypted private key as PEM")
    }
    let pair = Pair(chain: chain, key: key, expires: leaf.notValidAfter, files: files, generation: generation)
    do { _ = try NIOSSLContext(configuration: configuration(pair)) } catch {
      throw Unusable(text: "the private key \(files.key) does not belong to the certificate \(files.chain)")
    }
    return pair
  }

  private static func bytes(_ path: String, _ what: String) throws(Unusable) -> [UInt8] {
    do { return try Files.read(path, bytesMax: CertificateLimits.fileBytesMax) } catch {
      throw Unusable(text: "the \(what) \(path) cannot be read: \(error.reasonWithRemedy)")
    }
  }
}
