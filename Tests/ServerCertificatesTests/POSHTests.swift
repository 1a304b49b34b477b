import Basics
import Crypto
import DNS
import Peers
import Synchronization
import Testing
import WebClient

@testable import ServerCertificates

@Suite struct POSHTests {
  private static let place = "https://example.net/.well-known/posh/xmpp-server.json"

  /// A web of documents, which counts what is asked for.
  private final class Web: Sendable {
    let documents: [String: WebAnswer]
    let asked = Mutex<[String]>([])
    init(_ documents: [String: WebAnswer]) { self.documents = documents }
    func posh() -> POSH {
      POSH(clock: FixedClock()) { [self] url in
        asked.withLock { $0.append(url) }
        return documents[url]
      }
    }
  }

  private static func answer(_ json: String) -> WebAnswer { WebAnswer(status: 200, body: Array(json.utf8)) }

  private static func fingerprints(_ issued: Issued, expires: Int = 3_600) -> WebAnswer {
    let digest = Base64.string(SHA256.hash(data: issued.der))
    return answer(#"{"fingerprints": [{"sha-256": "\#(digest)"}], "expires": \#(expires)}"#)
  }

  private let ownSigned = Draft(names: nil).sign()
  private let valid = PeerVerdict.valid(by: .posh, until: Timestamp("2026-12-31T00:00:00Z")!)

  private func verdict(_ posh: POSH, _ issued: Issued, _ targets: [ServerTarget] = []) async -> PeerVerdict {
    await ServerCertificatesTests.verdict(
      ChainCase("", [issued.der], targets: targets, ChainCase.good()), posh: posh)
  }

  @Test func theDomainsSiteNamesACertificate() async {
    let web = Web([Self.place: Self.fingerprints(ownSigned)])
    let posh = web.posh()
    #expect(await verdict(posh, ownSigned) == valid)
    #expect(await verdict(posh, ownSigned) == valid)
    #expect(web.asked.withLock { $0 } == [Self.place])
    let other = Draft(names: nil).sign()
    guard case .invalid = await verdict(posh, other) else {
      Issue.record("another certificate was taken")
      return
    }
  }

  /// Subdomains cost nothing, so those of one owner have a share of the requests.
  @Test(.timeLimit(.minutes(1))) func requestsToOneZoneAreBounded() async {
    let (asked, ask) = AsyncStream<String>.makeStream()
    let held = Mutex<[CheckedContinuation<Void, Never>]>([])
    let posh = POSH(clock: FixedClock()) { url in
      await withCheckedContinuation { continuation in
        held.withLock { $0.append(continuation) }
        ask.yield(url)
      }
      return nil
    }
    var urls = asked.makeAsyncIterator()
    let waiting = (0..<CertificateLimits.poshPerZoneAtOnce).map { number in
      Task { await posh.names([1], for: "\(number).evil.example") }
    }
    for _ in waiting { _ = await urls.next() }
    let more = await posh.names([1], for: "more.evil.example")
    let count = held.withLock { $0.count }
    #expect(!more && count == CertificateLimits.poshPerZoneAtOnce)
    let other = Task { await posh.names([1], for: "mantua.example") }
    let url = await urls.next()
    #expect(url == "https://mantua.example/.well-known/posh/xmpp-server.json")
    for continuation in held.withLock({ $0 }) { continuation.resume() }
    for task in waiting + [other] { #expect(await !task.value) }
  }

  @Test func aReferenceIsFollowedOnce() async {
    let (second, third) = ("https://host.example/posh.json", "https://third.example/posh.json")
    let once = Web([
      Self.place: Self.answer(#"{"url": "\#(second)", "expires": 60}"#), second: Self.fingerprints(ownSigned),
    ])
    #expect(await verdict(once.posh(), ownSigned) == valid)
    let twice = Web([
      Self.place: Self.answer(#"{"url": "\#(second)", "expires": 60}"#),
      second: Self.answer(#"{"url": "\#(third)", "expires": 60}"#), third: Self.fingerprints(ownSigned),
    ])
    #expect(await verdict(twice.posh(), ownSigned) != valid)
    let redirected = Web([
      Self.place: WebAnswer(status: 307, headers: [("location", second)]), second: Self.fingerprints(ownSigned),
    ])
    #expect(await verdict(redirected.posh(), ownSigned) == valid)
    let plain = Web([
      Self.place: WebAnswer(status: 307, headers: [("location", "http://host.example/posh.json")]),
      "http://host.example/posh.json": Self.fingerprints(ownSigned),
    ])
    #expect(await verdict(plain.posh(), ownSigned) != valid)
    let round = Web([Self.place: WebAnswer(status: 307, headers: [("location", Self.place)])])
    #expect(await verdict(round.posh(), ownSigned) != valid)
    #expect(round.asked.withLock { $0.count } == CertificateLimits.poshHopsMax + 1)
  }

  @Test func documentsThatProveNothing() async {
    let digest = Base64.string(SHA256.hash(data: ownSigned.der))
    for document in [
      Self.fingerprints(ownSigned, expires: 0), Self.answer("{}"), Self.answer("nonsense"),
      Self.answer(#"{"fingerprints": [{"sha-256": "\#(digest)"}]}"#),
      Self.answer(#"{"fingerprints": [{"sha-256": "\#(digest)", "sha-512": "AAAA"}], "expires": 60}"#),
      WebAnswer(status: 404),
    ] {
      let web = Web([Self.place: document])
      let posh = web.posh()
      #expect(await verdict(posh, ownSigned) == .invalid(reason: Self.refusal))
      #expect(await verdict(posh, ownSigned) == .invalid(reason: Self.refusal))
      // That there is none is remembered, too.
      #expect(web.asked.withLock { $0.count } == 1)
    }
  }

  private static let refusal =
    "the certificate is not valid: it names no domain (the common name does not count), so it is not for example.net;"
    + " it is self-signed"

  @Test func itIsNotAskedWhereItCannotHelp() async {
    let expired = Draft(names: nil, until: "2026-05-01").sign()
    let web = Web([Self.place: Self.fingerprints(expired)])
    guard case .invalid = await verdict(web.posh(), expired) else {
      Issue.record("an expired certificate was taken")
      return
    }
    // Records in signed DNS have the last word.
    let record = TLSARecord(usage: 3, selector: 1, matching: 1, data: .init(repeating: 0, count: 32))
    let target = ServerTarget(name: "h.example", port: 5269, isDirectTLS: false, isSecure: true, tlsa: [record])
    #expect(
      await verdict(web.posh(), ownSigned, [target])
        == .invalid(reason: "the certificate is not valid: it matches none of the TLSA records of h.example"))
    #expect(web.asked.withLock { $0 }.isEmpty)
  }
}
