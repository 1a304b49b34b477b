import NIOCore
import NIOEmbedded
import NIOSSL
import Testing
import XMLStream

@testable import parley

/// The rows of XEP-0479 against what a server shows; that a server shows all of it is checked against a running one
/// (Tests/Clients/compliance.py).
@Suite struct ComplianceTests {
  @Test func aServerThatShowsNothingMeetsNothing() {
    let rows = ComplianceSuites.rows(ProbeFacts())
    #expect(rows.count == ComplianceSuites.all.count)
    #expect(!rows.contains { $0.isMet })
    #expect(rows.allSatisfy { $0.remedy?.isEmpty == false })
  }

  @Test func eachRowNeedsWhatItNames() {
    var facts = ProbeFacts()
    facts.account = ["urn:xmpp:mam:2", "urn:xmpp:push:0"]
    facts.transports = ["jabber:component:accept"]
    #expect(
      ComplianceSuites.rows(facts).filter(\.isMet).map(\.specifications) == ["XEP-0114", "XEP-0313", "XEP-0357"])
  }
}

/// The stream by which a running server is asked.
@Suite struct ProbeStreamTests {
  /// Returns what is read of texts that come one after the other, and whether TLS has begun behind them.
  private func read(_ texts: [String]) throws -> (elements: AsyncStream<Element>, hasTLS: Bool) {
    let (elements, continuation) = AsyncStream.makeStream(of: Element.self)
    let channel = EmbeddedChannel()
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(ElementsHandler(continuation, starting: ProbeStream.trusting(protocols: [])))
    for text in texts { try channel.writeInbound(ByteBuffer(string: text)) }
    continuation.finish()
    return (elements, (try? pipeline.handler(type: NIOSSLClientHandler.self)) != nil)
  }

  /// RFC 6120 5.4.3.3: somebody in between could have put it there.
  @Test func whatComesInTheClearBehindProceedIsDropped() async throws {
    let header =
      "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1' version='1.0'>"
    let proceed = "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
    let features = "<stream:features/>"
    let (elements, hasTLS) = try read([header + features, proceed + header + features])
    var names: [String] = []
    for await element in elements { names.append(element.local) }
    #expect(names == ["features", "proceed"] && hasTLS)
  }
}
