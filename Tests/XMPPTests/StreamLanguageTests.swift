import Testing
import XMLStream

@testable import XMPP

/// RFC 6120 4.7.4, 8.1.5: stanzas without a language have that of their stream.
@Suite struct StreamLanguageTests {
  typealias S = ServerStreams

  private func bound(_ header: StreamHeader, _ restarted: StreamHeader) throws -> StreamMachine {
    var machine = StreamMachine(policy: StreamMachineTests.policy(), isSecured: true)
    _ = machine.opened(header, id: "s1")
    _ = machine.received(StreamMachineTests.login)
    _ = machine.answered(.password(.right(.active)), attempt: 1)
    _ = machine.opened(restarted, id: "s2")
    machine.bound(try StreamMachineTests.jid())
    return machine
  }

  private func language(_ machine: inout StreamMachine, _ xml: String = "<message/>") throws -> String? {
    guard case .stanza(let stanza) = machine.received(try element(xml)) else {
      Issue.record("no stanza")
      return nil
    }
    return stanza.language
  }

  @Test func aStanzaKeepsItsOwn() throws {
    var machine = try bound(try clientHeader(language: "it"), try clientHeader(language: "de-CH-1996"))
    #expect(try language(&machine) == "de-CH-1996")
    #expect(try language(&machine, "<presence/>") == "de-CH-1996")
    #expect(try language(&machine, "<iq type='get' id='1'><x xmlns='urn:x'/></iq>") == "de-CH-1996")
    #expect(try language(&machine, "<message xml:lang='fr'/>") == "fr")
    #expect(try language(&machine, "<message xml:lang=''/>") == "")
  }

  /// 4.7.4: the default is that of the current stream.
  @Test func aRestartedStreamWithoutOneHasNone() throws {
    var machine = try bound(try clientHeader(language: "it"), try clientHeader())
    #expect(try language(&machine) == nil)
  }

  /// XEP-0124 7.1: the first request states it for the session.
  @Test func aBOSHSessionKeepsIt() throws {
    func framed(_ language: String?) -> StreamHeader {
      StreamHeader(
        framed: Element(
          Name("open", NS.framing), ["to": "im.example.com", "version": "1.0", "xml:lang": language]))
    }
    var machine = try bound(framed("it"), framed(nil))
    #expect(try language(&machine) == "it")
  }

  /// 8.1.5: what is written into stanzas has the form of a language tag.
  @Test(arguments: [
    "", "en_US", "en-", "englishlanguage", "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-e", "\u{E9}",
  ])
  func anotherTextIsIgnored(_ text: String) throws {
    var machine = try bound(try clientHeader(), try clientHeader(language: text))
    #expect(try language(&machine) == nil)
  }

  @Test func otherServers() throws {
    let message = "<message from='romeo@montague.example/o' to='juliet@capulet.example'/>"
    var receiving = ReceivingMachine(policy: S.policy)
    receiving.secured()
    _ = receiving.opened(try S.header(language: "it"), id: "s1")
    _ = receiving.judged(.certified)
    #expect(receiving.received(try S.auth("=")) == .authenticated)
    _ = receiving.opened(try S.header(language: "en"), id: "s2")
    guard case .stanza(let received, _) = receiving.received(try S.element(message)) else {
      Issue.record("no stanza")
      return
    }
    #expect(received.language == "en")

    var initiating = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true, wantsBidi: true)
    _ = initiating.secured()
    _ = initiating.judged(.certified)
    _ = initiating.opened(try S.header(id: "t1", language: "en"))
    _ = initiating.received(try S.features(S.external, S.bidi))
    _ = initiating.received(try S.element(S.success))
    _ = initiating.opened(try S.header(id: "t2", language: "it"))
    _ = initiating.received(try S.features())
    guard case .stanza(let answered, _) = initiating.received(try S.element(message)) else {
      Issue.record("no stanza")
      return
    }
    #expect(answered.language == "it")
  }

  @Test func components() throws {
    var machine = ComponentMachine(secrets: ["plays.shakespeare.lit": "prospero"])
    let opening = try header(
      "<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' "
        + "to='plays.shakespeare.lit' xml:lang='it'>")
    _ = machine.opened(opening, id: "3BF96D32")
    machine.accepted()
    guard
      case .stanza(let stanza) = machine.received(
        try element("<message from='bot@plays.shakespeare.lit' to='romeo@localhost'/>"))
    else {
      Issue.record("no stanza")
      return
    }
    #expect(stanza.language == "it")
  }
}
