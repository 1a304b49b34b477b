import Basics
import ServerConfiguration
import ServerFixtures
import Testing
import X509

@testable import ServerCertificates

/// Which server asks browsers to come by TLS alone.
@Suite struct StrictTransportTests {
  private let known = Draft.authority("Known").sign()

  private func write(_ issued: Issued, to folder: String) throws {
    try Files.write(Array(issued.pem.chain.utf8), to: folder + "/chain.pem", mode: 0o600)
    try Files.write(Array(issued.pem.key.utf8), to: folder + "/key.pem", mode: 0o600)
  }

  /// Calls `body` for a server with this certificate; without one it makes its own.
  private func withServer(
    _ issued: Issued?, url: String?, _ body: (StrictTransport, Certificates, String) async throws -> Void
  ) async throws {
    try await withScratchFolder { folder in
      var values = ["domain": "example.net"]
      values["http.url"] = url
      if let issued {
        try write(issued, to: folder)
        values["tls.certificate"] = folder + "/chain.pem"
        values["tls.key"] = folder + "/key.pem"
      }
      let settings = try testSettings(folder, values)
      let certificates = try Certificates(settings, folder: folder + "/tls", logger: quiet)
      let authority = known.certificate
      let strict = StrictTransport(settings, certificates) { Authorities([authority]) }
      try await body(strict, certificates, folder)
    }
  }

  private func asks(
    _ issued: Issued?, url: String? = "https://example.net", about authority: String? = "example.net",
    at time: Timestamp = now
  ) async throws -> Bool {
    var asks = false
    try await withServer(issued, url: url) { strict, _, _ in
      #expect(!strict.applies(to: authority))
      await strict.judge(at: time)
      asks = strict.applies(to: authority)
    }
    return asks
  }

  @Test func onlyTheHostOfTheURL() async throws {
    let good = Draft().sign(by: known)
    for authority in ["example.net", "EXAMPLE.net", "example.net:443"] {
      #expect(try await asks(good, about: authority), "\(authority)")
    }
    for authority in ["example.net:8443", "chat.example.net", "localhost", "", nil] {
      #expect(try await !asks(good, about: authority), "\(authority ?? "")")
    }
    #expect(try await asks(good, url: "https://example.net:443/"))
  }

  @Test func onlyAWrittenURLOfTheUsualPort() async throws {
    let wild: [GeneralName] = [.dnsName("example.net"), .dnsName("localhost"), .dnsName("a.localhost")]
    let good = Draft(names: wild).sign(by: known)
    for (url, authority) in [
      (nil, "example.net"), ("http://example.net", "example.net"), ("https://example.net:8443", "example.net:8443"),
      ("https://example.net:8443", "example.net"), ("https://localhost", "localhost"),
      ("https://a.localhost", "a.localhost"), ("https://192.0.2.1", "192.0.2.1"), ("https://[::1]", "[::1]"),
    ] as [(String?, String)] {
      #expect(try await !asks(good, url: url, about: authority), "\(url ?? "none")")
    }
  }

  @Test func onlyATrustedCertificate() async throws {
    #expect(try await !asks(nil))
    #expect(try await !asks(Draft().sign()))
    #expect(try await !asks(Draft().sign(by: Draft.authority("Unknown").sign())))
    // A name of a known authority is no signature of it.
    #expect(try await !asks(Draft().sign(by: Draft.authority("Unknown").sign(), forging: "Known")))
    #expect(try await !asks(Draft(until: "2026-05-31").sign(by: known)))
    #expect(try await !asks(Draft(names: [.dnsName("chat.example.net")]).sign(by: known)))
    // It is good for other servers, and browsers do not know such names.
    #expect(try await !asks(Draft(names: [.srvName("_xmpp-server.example.net")]).sign(by: known)))
  }

  @Test func theCertificateIsJudgedAgainWhenItChangesOrEnds() async throws {
    try await withServer(Draft().sign(), url: "https://example.net") { strict, certificates, folder in
      func asks(at time: Timestamp = now) async -> Bool {
        certificates.refresh()
        await strict.judge(at: time)
        return strict.applies(to: "example.net")
      }
      #expect(await !asks())
      try write(Draft().sign(by: known), to: folder)
      #expect(await asks())
      let later = try #require(Timestamp("2027-01-01T00:00:00Z"))
      #expect(await !asks(at: later))
      try write(Draft().sign(), to: folder)
      #expect(await !asks())
    }
  }
}
