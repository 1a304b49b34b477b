import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// The way of a forwarded report (XEP-0377), and its form between servers.
@Suite struct ReportDestinationTests {
  private static func stanza(_ xml: String) -> Stanza? { StanzaBytes.stanza { $0.raw(Array(xml.utf8)) } }

  private static func info(_ content: String) -> String {
    "<iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#info'>\(content)</query></iq>"
  }

  private static func abuse(_ addresses: String...) -> String {
    """
    <x xmlns='jabber:x:data' type='result'><field var='FORM_TYPE' type='hidden'>\
    <value>http://jabber.org/network/serverinfo</value></field><field var='abuse-addresses'>\
    \(addresses.map { "<value>\($0)</value>" }.joined())</field></x>
    """
  }

  private static let knows = "<feature var='urn:xmpp:reporting:1'/>"

  private static func report(_ realm: Realm, texts: [String?] = ["Buy my <daggers>", nil]) -> Report {
    Report(
      id: 3, realm: realm.id, reporter: UserID(7), reported: "bot@spam.example", reason: "urn:xmpp:reporting:spam",
      text: "Never.", consent: [.origin],
      messages: texts.enumerated().map { Report.Message(id: "m\($0.offset)", text: $0.element) },
      createdAt: Timestamp(milliseconds: 1))
  }

  private func way(_ answer: String?) async throws -> (ReportForwarding.Way, asked: [String]) {
    let stage = try Stage()
    let asked = Locked<[String]>([])
    let destination = ReportDestination(stage.parley.realms) { payload, domain, from in
      asked.withLock { $0.append("\(from.address) \(domain) \(String(decoding: payload, as: UTF8.self))") }
      return answer.flatMap { Self.stanza($0) }
    }
    return (await destination.find(Self.report(stage.parley.realms[0])), asked.withLock { $0 })
  }

  private func destination(_ content: String) async throws -> String? {
    guard case .found(let to, _, _) = try await way(Self.info(content)).0 else { return nil }
    return to.description
  }

  @Test func theDomainSaysWhoTakesReports() async throws {
    let address = Self.abuse("mailto:abuse@spam.example", "xmpp:abuse@spam.example?message")
    #expect(try await destination(Self.knows + address) == "abuse@spam.example")
    #expect(try await destination(address) == "abuse@spam.example")
    #expect(try await destination(Self.knows + Self.abuse("mailto:abuse@spam.example")) == "spam.example")
    #expect(try await destination(Self.knows) == "spam.example")
    #expect(try await destination("<feature var='urn:xmpp:ping'/>") == nil)
  }

  /// Anybody could have a third server flooded by naming it.
  @Test func anAddressOfAnotherDomainIsNotUsed() async throws {
    #expect(try await destination(Self.abuse("xmpp:abuse@victim.example")) == nil)
    #expect(try await destination(Self.knows + Self.abuse("xmpp:abuse@victim.example")) == "spam.example")
  }

  @Test func aDomainThatIsAwayIsToldFromOneThatRefuses() async throws {
    func error(_ type: String, _ condition: String) -> String {
      "<iq type='error' id='1'><error type='\(type)'>"
        + "<\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
    }
    for answer in [
      nil, error("wait", "resource-constraint"), error("cancel", "remote-server-not-found"),
      error("wait", "remote-server-timeout"),
    ] {
      guard case .unreached = try await way(answer).0 else {
        Issue.record("\(answer ?? "nothing") is no answer")
        continue
      }
    }
    guard case .unaccepted = try await way(error("cancel", "service-unavailable")).0 else {
      Issue.record("a refusal is an answer")
      return
    }
  }

  @Test func theDomainIsAskedInOurName() async throws {
    #expect(
      try await way(nil).asked
        == ["localhost spam.example <query xmlns='http://jabber.org/protocol/disco#info'/>"])
  }

  /// XEP-0377 3: the reporter is concealed by leaving out the 'to' of what is quoted.
  @Test func theReporterIsNotNamed() async throws {
    guard case .found(_, _, let extras) = try await way(Self.info(Self.knows)).0 else {
      Issue.record("no way was found")
      return
    }
    let text = """
      <body>A user of localhost reports bot@spam.example (spam).</body>\
      <report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'>\
      <jid xmlns='urn:xmpp:jid:0'>bot@spam.example</jid><text>Never.</text></report>\
      <forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' from='bot@spam.example' type='chat'>\
      <body>Buy my &lt;daggers&gt;</body></message></forwarded>
      """
    #expect(String(decoding: extras, as: UTF8.self) == text)
  }

  @Test func quotesAreBounded() throws {
    let stage = try Stage()
    let long = String(repeating: "<", count: 9_000)
    let report = Self.report(stage.parley.realms[0], texts: [String?](repeating: long, count: 20))
    let bytes = StanzaBytes.bytes { Reporting.writeForwarded(report, by: "localhost", into: &$0) }
    #expect(bytes.count < FederationLimits.stanzaBytesMax)
    let message = try #require(StanzaBytes.stanza { writer in writer.element(.message) { $0.raw(bytes) } })
    #expect(message.element.children.filter { $0.is(.forwarded) }.count == 3)
  }

  // MARK: Reports of other servers

  @Test func whatWeForwardIsUnderstoodOnTheOtherSide() throws {
    let stage = try Stage()
    let report = Self.report(stage.parley.realms[0])
    let message = try #require(
      StanzaBytes.stanza { writer in
        writer.element(.message) { Reporting.writeForwarded(report, by: "localhost", into: &$0) }
      })
    let read = try #require(Reporting.forwarded(in: message.element, about: "spam.example"))
    #expect(read.reported.description == "bot@spam.example" && read.reason == "urn:xmpp:reporting:spam")
    #expect(read.text == "Never." && read.messages == [Report.Message(id: "", text: "Buy my <daggers>")])
    // A user of another domain is not ours to judge.
    #expect(Reporting.forwarded(in: message.element, about: "localhost") == nil)
  }

  @Test(arguments: [
    "<jid xmlns='urn:xmpp:jid:0'>spam.example</jid>", "<jid xmlns='urn:xmpp:jid:0'>@</jid>", "",
    "<jid>bot@spam.example</jid>",
  ])
  func aReportOfNobodyIsNone(content: String) throws {
    let message = try #require(
      Self.stanza(
        "<message><report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'>\(content)</report></message>"))
    #expect(Reporting.forwarded(in: message.element, about: "spam.example") == nil)
  }

  @Test func whatOthersHaveSaidIsNotQuoted() throws {
    let message = try #require(
      Self.stanza(
        """
        <message><report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'>\
        <jid xmlns='urn:xmpp:jid:0'>bot@spam.example</jid></report><forwarded xmlns='urn:xmpp:forward:0'>\
        <message xmlns='jabber:client' from='juliet@spam.example'><body>Hi</body></message></forwarded></message>
        """))
    #expect(try #require(Reporting.forwarded(in: message.element, about: "spam.example")).messages.isEmpty)
  }
}
