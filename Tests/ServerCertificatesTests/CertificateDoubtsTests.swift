import Basics
import ServerConfiguration
import ServerFixtures
import SwiftASN1
import Testing
import X509

@testable import ServerCertificates

/// What `parley check` says of certificates that can be used, and should not be.
@Suite struct CertificateDoubtsTests {
  private let root = Draft.authority("Root").sign()

  /// Returns what is said of a certificate with these others in its file, without the file's name.
  private func doubts(
    _ issued: Issued, _ others: [Issued] = [], names: [String] = ["example.net"], at time: Timestamp = now
  ) throws -> [String] {
    try said(of: issued, others) { settings, folder in
      Certificates.doubts(settings, issuedIn: folder, at: time) { _ in names }
    }
  }

  private func remarks(_ issued: Issued, _ others: [Issued] = []) throws -> [String] {
    try said(of: issued, others) { settings, _ in Certificates.remarks(settings) }
  }

  private func said(
    of issued: Issued, _ others: [Issued], _ judge: (Settings, String) -> [String]
  ) throws -> [String] {
    try withScratchFolder { folder in
      let file = folder + "/chain.pem"
      try Files.write(Array(([issued] + others).map(\.pem.chain).joined(separator: "\n").utf8), to: file, mode: 0o600)
      try Files.write(Array(issued.pem.key.utf8), to: folder + "/key.pem", mode: 0o600)
      try Files.write(Array(root.pem.chain.utf8), to: folder + "/root.pem", mode: 0o600)
      let settings = try testSettings(
        folder,
        [
          "domain": "example.net", "tls.certificate": file, "tls.key": folder + "/key.pem",
          "outgoing.authorities": folder + "/root.pem",
        ])
      #expect(Certificates.check(settings) == [])
      return judge(settings, folder).map { $0.replacing("The certificate \(file) ", with: "") }
    }
  }

  @Test func aGoodOneIsBeyondDoubt() throws {
    let between = Draft.authority("Between").sign(by: root)
    #expect(try doubts(Draft().sign(by: root)) == [])
    #expect(try doubts(Draft().sign(by: between), [between]) == [])
    // Who presents the root as well does no harm.
    #expect(try doubts(Draft().sign(by: between), [between, root]) == [])
    #expect(try doubts(Draft().sign()) == [])
    // Nothing is remarked on either, where the authority is known.
    #expect(try remarks(Draft().sign(by: between), [between]) == [])
    #expect(try remarks(Draft().sign(by: between), [between, root]) == [])
  }

  @Test func datesAreSeen() throws {
    let renewing = "renew it: the server reads changed files within 30 seconds, or at once by parley reload"
    #expect(try doubts(Draft(until: "2026-05-31").sign(by: root)) == ["expired on 2026-05-31; \(renewing)."])
    #expect(
      try doubts(Draft(from: "2026-06-02").sign(by: root)) == [
        "is not valid before 2026-06-02; use the former one until then, or correct the clock of this machine."
      ])
    #expect(
      try doubts(Draft(until: "2026-06-15").sign(by: root)) == [
        "expires on 2026-06-15, and has not been renewed; \(renewing)."
      ])
    #expect(try doubts(Draft(until: "2026-06-16").sign(by: root)) == [])
    // One of six days is renewed when two are left.
    #expect(try doubts(Draft(from: "2026-05-29", until: "2026-06-04").sign(by: root)) == [])
    #expect(
      try doubts(Draft(from: "2026-05-28", until: "2026-06-03").sign(by: root))
        == ["expires on 2026-06-03, and has not been renewed; \(renewing)."])
  }

  @Test func namesThatAreNotInItAreSeen() throws {
    let wanted = ["example.net", "conference.example.net", "bücher.example.net"]
    #expect(
      try doubts(Draft().sign(by: root), names: wanted) == [
        "does not name conference.example.net, xn--bcher-kva.example.net, so that clients and other servers refuse it there."
      ])
    let wild = Draft(names: [.dnsName("example.net"), .dnsName("*.example.net")]).sign(by: root)
    #expect(try doubts(wild, names: wanted) == [])
  }

  /// The place of the issuer's certificate, which certificates for everybody have.
  private static let place = made {
    try Certificate.Extension(
      AuthorityInformationAccess([
        AuthorityInformationAccess.AccessDescription(
          method: .issuingCA, location: .uniformResourceIdentifier("http://ca.example/between.der"))
      ]), critical: false)
  }

  /// What clients do not accept has another remedy by its fault: a new certificate does not help where an authority is missing.
  @Test func theRemedyIsThatOfTheFault() async throws {
    let judge = PeerJudge(Authorities([root.certificate]), FixedClock())
    func remedy(_ issued: [Issued]) async -> String? {
      await judge.verify(own: issued.map(\.der), for: "example.net").remedy
    }
    let (own, another) = (Draft.authority("Own").sign(), "get one that names example.net (tls.acme does by itself)")
    let between = Draft.authority("Between").sign(by: root)
    #expect(await remedy([Draft().sign(by: root)]) == nil)
    #expect(await remedy([Draft(until: "2026-05-31").sign(by: root)])?.hasPrefix("renew it: ") == true)
    #expect(
      await remedy([Draft(names: [.dnsName("b.example")]).sign(by: root)]) == "\(another), or see what listens there")
    #expect(await remedy([Draft().sign()]) == "\(another) from an authority that clients know")
    for chain in [[Draft().sign(by: own)], [Draft().sign(by: between)]] {
      let text = await remedy(chain)
      #expect(text?.contains("sudo update-ca-certificates; else add the certificates between") == true)
      #expect(text?.contains("get one") == false)
    }
    // The authority itself is presented, so that nothing is missing between.
    let presented = await remedy([Draft().sign(by: own), own])
    #expect(
      presented?.hasSuffix("sudo update-ca-certificates; else \(another) from an authority that clients know") == true)
    let located = await remedy([Draft(more: [Self.place]).sign(by: between)])
    #expect(located?.hasPrefix("add the certificates between") == true)
    let joined = PeerJudge(
      Authorities(joining: [Authorities([root.certificate]), Authorities([own.certificate])]), FixedClock())
    for authority in [root, own] {
      #expect(await joined.verify(own: [Draft().sign(by: authority).der], for: "example.net").remedy == nil)
    }
    let both = await remedy([Draft(until: "2026-05-31").sign(by: own)])
    #expect(both?.contains("renew it") == true && both?.contains("update-ca-certificates") == true)
  }

  @Test func aMissingCertificateBetweenIsSeen() throws {
    let between = Draft.authority("Between").sign(by: root)
    let incomplete = "has an incomplete chain: the certificate of CN=Between is missing in the file."
    #expect(try doubts(Draft(more: [Self.place]).sign(by: between)) == [incomplete])
    #expect(try doubts(Draft(more: [Self.place]).sign(by: between), [root]) == [incomplete])
    #expect(try remarks(Draft(more: [Self.place]).sign(by: between)) == [])
    let lower = Draft.authority("Lower").with { $0.more = [Self.place] }.sign(by: between)
    #expect(try doubts(Draft().sign(by: lower), [lower]) == [incomplete])
  }

  /// The chain of a company's own authority is complete for those who trust it.
  @Test func aPrivateRootIsRemarkedOn() throws {
    let own = Draft.authority("Own").sign()
    let between = Draft.authority("Between").sign(by: own)
    let unknown = "which this machine does not know: it is accepted by those who trust that authority"
    let otherwise = "If another authority vouches for that one, its certificate is missing in the file."
    for (issued, others, remark) in [
      (Draft().sign(by: own), [], "leads to CN=Own, \(unknown). \(otherwise)"),
      (Draft().sign(by: between), [between], "leads to CN=Own, \(unknown). \(otherwise)"),
      (Draft().sign(by: own), [own], "leads to CN=Own, \(unknown)."),
      (Draft().sign(by: between), [between, own], "leads to CN=Own, \(unknown)."),
      (Draft().sign(), [], "is signed by itself: it is accepted by those who were given it, and by nobody else."),
    ] as [(Issued, [Issued], String)] {
      #expect(try doubts(issued, others) == [])
      #expect(try remarks(issued, others) == [remark])
    }
  }

  /// A chain may lead in a circle, be too long, or have names that move the cursor of a terminal.
  @Test func chainsThatLeadNowhereEnd() throws {
    let one = Draft.authority("One").sign(by: root, forging: "Other")
    let other = Draft.authority("Other").with { $0.more = [Self.place] }.sign(by: root, forging: "One")
    #expect(
      try doubts(Draft().sign(by: one), [one, other]) == [
        "has an incomplete chain: the certificate of CN=One is missing in the file."
      ])
    let many = Array(repeating: root, count: CertificateLimits.peerChainMax)
    #expect(
      try doubts(Draft().sign(by: root), many)
        == ["is doubtful: it came with more than \(CertificateLimits.peerChainMax - 1) others."])
    let hidden = Draft.authority("One\u{1B}[2J\n" + String(repeating: "x", count: 10_000)).sign(by: root)
    let texts = try doubts(Draft(more: [Self.place]).sign(by: hidden))
    #expect(texts.count == 1)
    #expect(texts.allSatisfy { $0.count < 400 && !$0.contains("\u{1B}") && !$0.contains("\n") }, "\(texts)")
  }

  @Test func anUnusableFileIsAnErrorAlone() throws {
    try withScratchFolder { folder in
      let settings = try testSettings(
        folder, ["tls.certificate": folder + "/missing.pem", "tls.key": folder + "/missing.key"])
      #expect(Certificates.check(settings).count == 1)
      #expect(Certificates.doubts(settings, issuedIn: folder, at: now) { _ in ["localhost"] } == [])
    }
  }

  @Test func theOneThatTheServerSignsItselfIsADoubt() throws {
    try withScratchFolder { folder in
      func doubts(_ values: [String: String], _ names: [String] = ["chat.example.net"]) throws -> [String] {
        Certificates.doubts(try testSettings(folder, values), issuedIn: folder, at: now) { [$0.name] + names }
      }
      let text =
        "No certificate is set for example.net: clients get one that the server has signed itself, and ask whether to "
        + "trust it, or refuse. Set tls.certificate and tls.key, or tls.acme."
      let domain = ["domain": "example.net"]
      let chat = domain.merging(["http.url": "https://chat.example.net"]) { $1 }
      // Before the first start there is none yet, which will name the host.
      for values in [domain, chat] { #expect(try doubts(values) == [text]) }
      try SelfSigned.prepare(in: folder, names: ["example.net"])
      #expect(try doubts(domain) == [text])
      let lacking =
        "It does not name chat.example.net, the host of http.url: delete \(folder)/self-signed.pem and restart the "
        + "server."
      #expect(try doubts(chat) == ["\(text) \(lacking)"])
      // The URL leads to a proxy, which has its own.
      #expect(try doubts(chat, []) == [text])
      // The next start replaces a certificate without the domain.
      let renamed = try doubts(["domain": "example.com"])
      #expect(renamed.count == 1 && renamed.first?.contains("It does not name") == false)
      // Neither a server for this machine alone needs one, nor one whose clients connect to a proxy.
      #expect(try doubts([:]) == [])
      let closed = ["xmpp.port": "0", "xmpp.tls_port": "0", "https.port": "0"]
      #expect(try doubts(domain.merging(closed) { $1 }) == [])
    }
  }

  @Test func theOneOfACMEIsRenewedByTheServerUntilItIsNot() throws {
    try withScratchFolder { folder in
      let settings = try testSettings(
        folder, ["domain": "a.example", "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true"])
      let issued = Draft(names: [.dnsName("a.example")], until: "2026-06-03").sign(by: root)
      try Files.makeFolder(folder + "/acme", mode: 0o700)
      try Files.write(
        Array((issued.pem.key + "\n" + issued.pem.chain).utf8), to: IssuedCertificate.path(folder), mode: 0o600)
      func doubts(_ time: String) throws -> [String] {
        Certificates.doubts(settings, issuedIn: folder, at: try #require(Timestamp(time))) { _ in ["b.example"] }
      }
      #expect(try doubts("2026-06-01T00:00:00Z") == [])
      #expect(
        try doubts("2026-06-04T00:00:00Z") == [
          "The certificate \(folder)/acme/certificate.pem expired on 2026-06-03 (parley certificate show)."
        ])
    }
  }
}
