import Basics
import CryptoExtras
import Foundation
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Peers
import ServerConfiguration
import ServerFixtures
import Testing
import X509

@testable import ServerCertificates

/// Real handshakes over the loopback interface, in both roles.
@Suite struct PeerHandshakeTests {
  /// A server with certificates for two domains, and its trust.
  private func withPeers(
    _ first: Issued, _ second: Issued, issuers: [Issued] = [], trusting authorities: [Issued] = [],
    _ body: (PeerCertificates, _ folder: String, Certificates) async throws -> Void
  ) async throws {
    try await withScratchFolder { folder in
      try write(first, issuers, to: folder + "/first")
      try write(second, issuers, to: folder + "/second")
      let known = authorities.isEmpty ? [Draft.authority("Unused").sign()] : authorities
      try Files.write(
        Array(known.map(\.pem.chain).joined(separator: "\n").utf8), to: folder + "/known.pem", mode: 0o600)
      let yaml = """
        data: \(folder)/data
        domain: first.example
        tls: {certificate: \(folder)/first.pem, key: \(folder)/first.key}
        domains:
          - {name: second.example, certificate: \(folder)/second.pem, key: \(folder)/second.key}
        """
      try Files.write(Array(yaml.utf8), to: folder + "/parley.yaml", mode: 0o600)
      let settings = try Settings.load(
        SettingsArguments(file: folder + "/parley.yaml"), environment: [:], standardFiles: [])
      let certificates = try Certificates(settings, folder: folder, logger: quiet)
      let peers = try PeerCertificates(
        certificates, authorities: folder + "/known.pem", posh: nil, clock: SystemClock(), logger: quiet)
      try await body(peers, folder, certificates)
    }
  }

  private func write(_ issued: Issued, _ issuers: [Issued], to path: String) throws {
    let chain = ([issued] + issuers).map(\.pem.chain).joined(separator: "\n")
    try Files.write(Array(chain.utf8), to: path + ".pem", mode: 0o600)
    try Files.write(Array(issued.pem.key.utf8), to: path + ".key", mode: 0o600)
  }

  /// Certificates whose dates hold at the time of the test.
  private static func draft(_ name: String) -> Draft {
    Draft(subject: name, names: [.dnsName(name)], from: "2020-01-01", until: "2099-12-31")
  }

  private static let root = Draft.authority("Known Root").with { ($0.from, $0.until) = ("2020-01-01", "2099-12-31") }
    .sign()
  private static let intermediate = Draft.authority("Intermediate")
    .with { ($0.from, $0.until) = ("2020-01-01", "2099-12-31") }.sign(by: root)

  @Test func bothSidesSeeTheOthersChain() async throws {
    let first = Self.draft("first.example").sign(by: Self.intermediate)
    let second = Self.draft("second.example").sign(by: Self.intermediate)
    try await withPeers(first, second, issuers: [Self.intermediate], trusting: [Self.root]) { peers, _, _ in
      let seen = try await handshake(
        server: #require(peers.serverContext("first.example")), client: #require(peers.clientContext("second.example")),
        domain: "first.example")
      #expect(seen.byClient.chain == [first.der, Self.intermediate.der])
      #expect(seen.byServer.chain == [second.der, Self.intermediate.der])
      #expect(seen.byClient.protocol == "xmpp-server")
      let until = PeerVerdict.valid(by: .pkix, until: Timestamp("2099-12-31T00:00:00Z")!)
      #expect(await peers.verify(seen.byClient.chain, for: "first.example", targets: []) == until)
      #expect(await peers.verify(seen.byServer.chain, for: "second.example", targets: []) == until)
      #expect(
        await peers.verify(seen.byServer.chain, for: "first.example", targets: [])
          == .invalid(reason: "the certificate is not valid: it is for second.example, not for first.example"))
      // A resumed session knows the first certificate alone.
      #expect(await peers.verify([first.der], for: "first.example", targets: []) == until)
      let shown = try #require(peers.describe(seen.byClient.chain))
      #expect(shown.names == ["first.example"])
      #expect(shown.issuer == "CN=Intermediate")
      #expect(shown.fingerprint.count == 64)
    }
  }

  @Test func badCertificatesGiveAChainToJudge() async throws {
    let expired = Self.draft("first.example").with { $0.until = "2021-01-01" }.sign(by: Self.root)
    let clientsOnly = Self.draft("second.example").with { $0.usages = [.clientAuth] }.sign()
    try await withPeers(expired, clientsOnly) { peers, _, _ in
      let seen = try await handshake(
        server: #require(peers.serverContext("first.example")), client: #require(peers.clientContext("second.example")),
        domain: "first.example")
      #expect(
        await peers.verify(seen.byClient.chain, for: "first.example", targets: [])
          == .invalid(
            reason: "the certificate is not valid: it expired on 2021-01-01; it was issued by an authority that is not"
              + " known here, and whose certificate was not presented: CN=Known Root"))
      #expect(
        await peers.verify(seen.byServer.chain, for: "second.example", targets: [])
          == .invalid(
            reason: "the certificate is not valid: its extended key usage does not allow servers (serverAuth); it is"
              + " self-signed"))
    }
  }

  @Test func aPeerWithoutACertificateIsLetIn() async throws {
    let own = Self.draft("first.example").sign(by: Self.root)
    try await withPeers(own, own) { peers, _, _ in
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.certificateVerification = .noHostnameVerification
      let seen = try await handshake(
        server: #require(peers.serverContext("first.example")),
        client: NIOSSLContext(configuration: configuration), domain: "first.example")
      #expect(seen.byServer.chain == [])
      #expect(
        await peers.verify([], for: "second.example", targets: [])
          == .invalid(reason: "no certificate was presented"))
    }
  }

  /// The signature of a large key over the handshake takes milliseconds of the event loop. A key of P-256 has 91 bytes.
  @Test(arguments: [(90, 91), (91, 90)]) func aKeyThatIsTooLargeEndsTheHandshake(
    serverMax: Int, clientMax: Int
  ) async throws {
    let own = Self.draft("first.example").sign(by: Self.root)
    try await withPeers(own, own) { peers, _, _ in
      let (server, client) = try (
        #require(peers.serverContext("first.example")), #require(peers.clientContext("second.example"))
      )
      await #expect(throws: (any Error).self) {
        try await handshake(
          server: server, client: client, domain: "first.example", (server: serverMax, client: clientMax))
      }
      try await handshake(server: server, client: client, domain: "first.example", (server: 91, client: 91))
    }
  }

  @Test func aKeyOf4096BitsIsNotTooLarge() async throws {
    let key = made { try Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits4096)) }
    let own = Self.draft("first.example").sign(by: Self.root, key: key)
    try await withPeers(own, own) { peers, _, _ in
      let seen = try await handshake(
        server: #require(peers.serverContext("first.example")), client: #require(peers.clientContext("second.example")),
        domain: "first.example")
      #expect(seen.byServer.chain == [own.der])
      #expect(seen.byClient.chain == [own.der])
    }
  }

  @Test(arguments: [TLSVersion.tlsv1, .tlsv11]) func olderVersionsAreRefusedInBothRoles(
    _ version: TLSVersion
  ) async throws {
    let own = Self.draft("first.example").sign(by: Self.root)
    try await withPeers(own, own) { peers, _, _ in
      var old = TLSConfiguration.makeClientConfiguration()
      (old.minimumTLSVersion, old.maximumTLSVersion) = (.tlsv1, version)
      old.certificateVerification = .noHostnameVerification
      await #expect(throws: (any Error).self) {
        try await handshake(
          server: #require(peers.serverContext("first.example")), client: NIOSSLContext(configuration: old),
          domain: "first.example")
      }
      old.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(own.pem.chain.utf8)).map { .certificate($0) }
      old.privateKey = try .privateKey(NIOSSLPrivateKey(bytes: Array(own.pem.key.utf8), format: .pem))
      old.certificateVerification = .none
      await #expect(throws: (any Error).self) {
        try await handshake(
          server: NIOSSLContext(configuration: old), client: #require(peers.clientContext("first.example")),
          domain: "first.example")
      }
    }
  }

  @Test func aRenewedCertificateIsPresentedWithoutARestart() async throws {
    let first = Self.draft("first.example").sign(by: Self.root)
    let second = Self.draft("second.example").sign(by: Self.root)
    try await withPeers(first, second) { peers, folder, certificates in
      let before = try #require(peers.serverContext("first.example"))
      #expect(peers.serverContext("first.example") === before)
      let renewed = Self.draft("first.example").sign(by: Self.root)
      try write(renewed, [], to: folder + "/first")
      certificates.refresh()
      let seen = try await handshake(
        server: #require(peers.serverContext("first.example")), client: #require(peers.clientContext("first.example")),
        domain: "first.example")
      #expect(seen.byClient.chain == [renewed.der])
      #expect(seen.byServer.chain == [renewed.der])
      // Domains below another one's, such as a component's, have its certificate.
      let below = try await handshake(
        server: #require(peers.serverContext("a.b.second.example")),
        client: #require(peers.clientContext("elsewhere.example")), domain: "192.0.2.1")
      #expect(below.byClient.chain == [second.der])
      #expect(below.byServer.chain == [renewed.der])
    }
  }

  @Test func authoritiesAreReadAgain() async throws {
    let own = Self.draft("first.example").sign(by: Self.root)
    try await withPeers(own, own) { peers, folder, _ in
      func isValid() async -> Bool {
        if case .valid = await peers.verify([own.der], for: "first.example", targets: []) { true } else { false }
      }
      #expect(await !isValid())
      #expect(
        throws: StartupError(
          "the certificate authorities \(folder)/none cannot be read: there is no such file or folder")
      ) {
        try peers.reload(authorities: folder + "/none")
      }
      try Files.write(Array("nothing".utf8), to: folder + "/nothing", mode: 0o600)
      #expect(throws: StartupError("the file \(folder)/nothing holds no certificate authorities as PEM")) {
        try peers.reload(authorities: folder + "/nothing")
      }
      try Files.write(Array(Self.root.pem.chain.utf8), to: folder + "/known.pem", mode: 0o600)
      try peers.reload(authorities: folder + "/known.pem")
      #expect(await isValid())
    }
  }

  // MARK: The loopback

  private struct Sight: Sendable {
    let chain: [[UInt8]]
    let `protocol`: String?
  }

  private final class Watcher: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let chain: PeerChain
    private var seen: EventLoopPromise<Sight>?

    init(_ chain: PeerChain, _ seen: EventLoopPromise<Sight>) { (self.chain, self.seen) = (chain, seen) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard case .handshakeCompleted(let negotiated) = event as? TLSUserEvent else { return }
      seen?.succeed(Sight(chain: chain.certificates, protocol: negotiated))
      seen = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      seen?.fail(error)
      seen = nil
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      seen?.fail(ChannelError.eof)
      seen = nil
    }
  }

  @discardableResult
  private func handshake(
    server: NIOSSLContext, client: NIOSSLContext, domain: String,
    _ keyBytesMax: (server: Int, client: Int) = (PeerLimits.keyBytesMax, PeerLimits.keyBytesMax)
  ) async throws -> (byServer: Sight, byClient: Sight) {
    let group = MultiThreadedEventLoopGroup.singleton
    let loop = group.next()
    let byServer = loop.makePromise(of: Sight.self)
    let byClient = loop.makePromise(of: Sight.self)
    let listener = try await ServerBootstrap(group: loop).childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let chain = PeerChain(keyBytesMax: keyBytesMax.server)
        try channel.pipeline.syncOperations.addHandlers(chain.serverHandler(server), Watcher(chain, byServer))
      }
    }.bind(host: "127.0.0.1", port: 0).get()
    let connected = try await ClientBootstrap(group: loop).channelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let chain = PeerChain(keyBytesMax: keyBytesMax.client)
        try channel.pipeline.syncOperations.addHandlers(
          chain.clientHandler(client, domain: domain), Watcher(chain, byClient))
      }
    }.connect(to: listener.localAddress!).get()
    let outcomes = await (
      Result { try await byServer.futureResult.get() }, Result { try await byClient.futureResult.get() }
    )
    try? await connected.close()
    try await listener.close()
    return (try outcomes.0.get(), try outcomes.1.get())
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
