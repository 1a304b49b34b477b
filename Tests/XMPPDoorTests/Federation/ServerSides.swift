import Basics
import Dialogs
import DialogsFixtures
import HTTPPort
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Peers
import ServerMetrics
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// One of two servers that open streams to each other over the loopback interface.
final class ServerSide: Sendable {
  let domain: String
  let owner: StreamRecorder
  let streams: ServerStreams
  let listener: ServerListener
  let place: MountedLoop

  init(
    _ domain: String, _ network: ServerNetwork, place: MountedLoop, _ options: FederationOptions = FederationOptions(),
    connections: PacedConnections? = nil, memory: MemoryBound = MemoryBound()
  ) {
    self.domain = domain
    self.place = place
    owner = StreamRecorder()
    streams = ServerStreams(
      door: network.door, mounted: [place], domains: [domain, "rooms." + domain], secret: Array(domain.utf8),
      idleSeconds: 1_800, trust: SideTrust(domain, network), dialing: network,
      rules: DomainPolicy(options, clock: network.door.parley.clock), connections: connections, memory: memory)
    listener = ServerListener(streams, mounted: [place], group: network.group, owner: owner)
  }

  /// Opens a stream to another domain. Returns the reason of its failure, which comes before anything else.
  func open(_ remote: String, local: String? = nil) {
    let owner = owner
    streams.open(DomainPair(local: local ?? domain, remote: remote), on: place, for: owner) { failure in
      owner.record(.failed(failure))
    }
  }
}

/// The network of the two: ports by domain, and the certificates that are believed.
final class ServerNetwork: ServerDialing {
  let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  let stage: Stage
  let door: DoorContext
  private let ports = Locked<[String: (port: Int, isDirectTLS: Bool)]>([:])
  /// The domains whose certificate is good, by the domain that shows it.
  private let certified = Locked<[String: Set<String>]>([:])

  init(
    memory: SessionMemory = SessionMemory(), beforeSend: BeforeSendOptions? = nil,
    judging: JudgingClocks = JudgingClocks(wall: { .zero }, thread: { .zero }),
    logger: Logger = Logger(label: "federation") { _ in SwiftLogNoOpLogHandler() }
  ) throws {
    stage = try Stage(beforeSend: beforeSend, memory: memory, judging: judging)
    door = DoorContext(
      accounts: stage.accounts, options: DoorContext.Options(domains: ["localhost"], version: "1"), logger: logger)
  }

  func place() async throws -> MountedLoop { try await MountedLoop.mount(group.next(), Metrics()) }

  /// Lets a side be found under its domain, and its certificate be good for these domains.
  func join(_ side: ServerSide, directTLS: Bool = false, certified domains: [String]) async throws {
    let port = try await side.listener.listen(host: "127.0.0.1", port: 0, directTLS: directTLS)
    ports.withLock { $0[side.domain] = (port, directTLS) }
    certified.withLock { $0[side.domain] = Set(domains) }
  }

  /// Lets another port be found under a domain, whose certificate stays good.
  func redirect(_ domain: String, to port: Int) { ports.withLock { $0[domain] = (port, false) } }

  func forget() {}

  func port(of domain: String) throws -> Int { try #require(ports.withLock { $0[domain]?.port }) }

  func isCertified(_ chain: [[UInt8]], for domain: String) -> Bool {
    guard let leaf = chain.first, let owner = SideTrust.certificates.first(where: { $0.value.der == leaf })?.key else {
      return false
    }
    return certified.withLock { $0[owner]?.contains(domain) == true }
  }

  func dial(
    _ domain: String, on loop: any EventLoop, excluding excluded: [ServerTarget]
  ) async throws(DialFailure) -> DialedConnection {
    guard let (port, isDirectTLS) = ports.withLock({ $0[domain] }) else { throw .noSuchDomain(isAuthentic: true) }
    let target = ServerTarget(name: "localhost", port: port, isDirectTLS: isDirectTLS)
    guard !excluded.contains(target) else { throw .unreachable(reasons: []) }
    do {
      let channel = try await ClientBootstrap(group: loop).channelOption(.autoRead, value: false)
        .connect(host: "127.0.0.1", port: port).get()
      return DialedConnection(channel: channel, target: target)
    } catch {
      throw .unreachable(reasons: ["refused"])
    }
  }

  func targets(of domain: String) async throws(DialFailure) -> [ServerTarget] { [] }
  func existingTargets(of domain: String) async throws(DialFailure) -> [ServerTarget] { [] }

  func end() async throws {
    door.parley.hub.setFederation(nil)
    try await group.shutdownGracefully()
  }
}

/// The certificate of one side, and its trust in the other's.
final class SideTrust: PeerTrust {
  private let domain: String
  private let network: ServerNetwork

  init(_ domain: String, _ network: ServerNetwork) {
    self.domain = domain
    self.network = network
  }

  func serverContext(_ local: String) -> NIOSSLContext? {
    guard var configuration = Self.configuration(domain, server: true) else { return nil }
    configuration.certificateVerification = .optionalVerification
    return try? NIOSSLContext(configuration: configuration)
  }

  func clientContext(_ local: String) -> NIOSSLContext? {
    Self.configuration(domain, server: false).flatMap { try? NIOSSLContext(configuration: $0) }
  }

  static func configuration(_ domain: String, server: Bool) -> TLSConfiguration? {
    guard let pair = certificates[domain] else { return nil }
    var configuration =
      server
      ? TLSConfiguration.makeServerConfiguration(
        certificateChain: [.certificate(pair.certificate)], privateKey: .privateKey(pair.key))
      : TLSConfiguration.makeClientConfiguration()
    if !server {
      configuration.certificateChain = [.certificate(pair.certificate)]
      configuration.privateKey = .privateKey(pair.key)
      configuration.certificateVerification = .noHostnameVerification
    }
    configuration.trustRoots = .certificates([])
    configuration.applicationProtocols = ["xmpp-server"]
    return configuration
  }

  func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict {
    network.isCertified(chain, for: domain)
      ? .valid(by: .pkix, until: Timestamp(milliseconds: 4_000_000_000_000))
      : .invalid(reason: "the certificate is not for \(domain)")
  }

  func describe(_ chain: [[UInt8]]) -> PeerCertificate? { nil }

  struct Pair {
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey
    let der: [UInt8]
  }

  /// Certificates without a meaning of their own, made with `openssl req -x509`.
  static let certificates: [String: Pair] = {
    var pairs: [String: Pair] = [:]
    for (domain, key, certificate) in [
      ("capulet.example", capulet.0, capulet.1), ("montague.example", montague.0, montague.1),
    ] {
      func pem(_ kind: String, _ text: String) -> [UInt8] {
        Array("-----BEGIN \(kind)-----\n\(text)\n-----END \(kind)-----\n".utf8)
      }
      guard let read = try? NIOSSLCertificate(bytes: pem("CERTIFICATE", certificate), format: .pem),
        let key = try? NIOSSLPrivateKey(bytes: pem("PRIVATE KEY", key), format: .pem), let der = try? read.toDERBytes()
      else { continue }
      pairs[domain] = Pair(certificate: read, key: key, der: der)
    }
    return pairs
  }()

  private static let capulet = (
    """
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUBCGh7CmLxpJtM1V
    r1vjiIhbSDfQDzdS5DQv7OrAr1+hRANCAASyMQ4UhwJT0Sgc1kv4R09REY2waJiS
    gebx3axz66CauOPw13uMDIcZ5Tc2cVJF8+hIaCFGlJA+g4LImonlYKfy
    """,
    """
    MIIBpjCCAU2gAwIBAgIUDwT6BnfuvJYRqrFhiO2QH4dsTjUwCgYIKoZIzj0EAwIw
    GjEYMBYGA1UEAwwPY2FwdWxldC5leGFtcGxlMCAXDTI2MTEyMzE2MTMzNFoYDzIx
    MjYxMDMwMTYxMzM0WjAaMRgwFgYDVQQDDA9jYXB1bGV0LmV4YW1wbGUwWTATBgcq
    hkjOPQIBBggqhkjOPQMBBwNCAASyMQ4UhwJT0Sgc1kv4R09REY2waJiSgebx3axz
    66CauOPw13uMDIcZ5Tc2cVJF8+hIaCFGlJA+g4LImonlYKfyo28wbTAdBgNVHQ4E
    FgQUoiBF2m5ODssKJYkcIoILo2Nan1EwHwYDVR0jBBgwFoAUoiBF2m5ODssKJYkc
    IoILo2Nan1EwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgg9jYXB1bGV0LmV4
    YW1wbGUwCgYIKoZIzj0EAwIDRwAwRAIgPYsR3tyjLs5LnED7curUoOHuYgjAAlXq
    S2oqXRK6DO4CIEcoC6KfbRbQzxbA5a0jLGLHRyQs7xKUL9dgPVRztgM2
    """
  )
  private static let montague = (
    """
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGrRv+OAO8LbDYHuf
    9Z0fMI2M+BGRE3sTOhHXCIZW8hGhRANCAATW0yzEt+k9pYAfHmv36OgvGxkKIQaL
    1lrPbcs9qYWoqn+qB0vlGawJTgOK5GZPmdbA4biLjR9gm9Oo+VzoZHbX
    """,
    """
    MIIBqTCCAVCgAwIBAgIUW1tQo+b8a4yvocuRZQKbgmQkIYowCgYIKoZIzj0EAwIw
    GzEZMBcGA1UEAwwQbW9udGFndWUuZXhhbXBsZTAgFw0yNjExMjMxNjEzMzRaGA8y
    MTI2MTAzMDE2MTMzNFowGzEZMBcGA1UEAwwQbW9udGFndWUuZXhhbXBsZTBZMBMG
    ByqGSM49AgEGCCqGSM49AwEHA0IABNbTLMS36T2lgB8ea/fo6C8bGQohBovWWs9t
    yz2phaiqf6oHS+UZrAlOA4rkZk+Z1sDhuIuNH2Cb06j5XOhkdtejcDBuMB0GA1Ud
    DgQWBBR3YVIA79h/oHt3YgnQaomsUCr7WzAfBgNVHSMEGDAWgBR3YVIA79h/oHt3
    YgnQaomsUCr7WzAPBgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCEG1vbnRhZ3Vl
    LmV4YW1wbGUwCgYIKoZIzj0EAwIDRwAwRAIgKhhzAngQbuoZQ0t9pAs5VWEc9MaS
    ugifvbzjHeu8c2oCIDIH6yRuFa1kHgTaV5dKY146boY44IBMYTMIxBc4IgkW
    """
  )
}

/// The owner of a side's streams, which records what it is told.
final class StreamRecorder: FederationStreamOwner {
  enum Event: Sendable, Equatable {
    case opened(DomainPair, mayWrite: Bool, isCertified: Bool)
    case received(String, of: DomainPair)
    case acknowledged(Int, of: DomainPair)
    case closed([DomainPair])
    case failed(OpenFailure)
  }

  private let stream: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  private let handles = Locked<[FederationStreamHandle]>([])
  private let holdsBack = Locked(false)

  init() { (stream, continuation) = AsyncStream.makeStream() }

  /// The stream that was opened last.
  var last: FederationStreamHandle? { handles.withLock { $0.last } }

  /// Lets what comes next be not handled, and so not acknowledged.
  func holdBack() { holdsBack.withLock { $0 = true } }

  func record(_ event: Event) { continuation.yield(event) }

  /// Returns the next event.
  func next() async -> Event? {
    var events = stream.makeAsyncIterator()
    return await events.next()
  }

  func opened(_ stream: any FederationStream, for pair: DomainPair, mayWrite: Bool, isCertified: Bool) {
    let handle = stream.handle
    handles.withLock { $0.append(handle) }
    record(.opened(pair, mayWrite: mayWrite, isCertified: isCertified))
  }

  func received(_ stanza: Stanza, of pair: DomainPair, on stream: any FederationStream) {
    record(.received(stanza.body?.text ?? "", of: pair))
    if !holdsBack.withLock({ $0 }) { stream.handled() }
  }

  func acknowledged(_ count: Int, of pair: DomainPair, on stream: any FederationStream) {
    record(.acknowledged(count, of: pair))
  }

  func writable(_ stream: any FederationStream, of pair: DomainPair) {}
  func left(_ pairs: [DomainPair]) {}

  func closed(_ stream: any FederationStream, of pairs: [DomainPair], isLost: Bool) { record(.closed(pairs)) }
}

extension FederationStreamHandle {
  /// Writes a message on the stream.
  func say(_ text: String, from: String, to: String) async throws -> Bool {
    try await loop.submit { [self] in
      guard let stream else { return false }
      let taken = stream.write { writer in
        writer.element(.message) { writer in
          writer.attribute("from", from)
          writer.attribute("to", to)
          writer.element(.body) { $0.text(text) }
        }
      }
      stream.flush()
      return taken
    }.get()
  }
}
