import Addresses
import Basics
import Testing
import XMLStream

@testable import XMPP

@Suite struct StanzaTests {
  @Test(arguments: [
    ("<message/>", StanzaKind.message), ("<presence/>", .presence), ("<iq/>", .iq),
  ])
  func kind(xml: String, kind: StanzaKind) throws {
    #expect(Stanza(try element(xml))?.kind == kind)
  }

  @Test(arguments: [
    "<pubsub/>", "<message xmlns='jabber:other'/>", "<message xmlns='jabber:server'/>", "<r xmlns='urn:xmpp:sm:3'/>",
  ])
  func notAStanza(xml: String) throws {
    #expect(Stanza(try element(xml)) == nil)
  }

  @Test func attributes() throws {
    let message = try stanza(
      "<message to='Romeo@Example.net/orchard' from='juliet@im.example.com' id='a&amp;b' xml:lang='en'><body>hi</body></message>"
    )
    #expect(message.id == "a&b")
    #expect(message.language == "en")
    #expect(try message.to()?.description == "romeo@example.net/orchard")
    #expect(try message.from()?.description == "juliet@im.example.com")
    #expect(message.body?.text == "hi")
    let bare = try stanza("<message/>")
    #expect(try bare.to() == nil)
    #expect(bare.id == nil)
  }

  /// RFC 6120 8.3.3.8.
  @Test func malformedAddress() throws {
    let message = try stanza("<message to='@example.net'/>")
    #expect(throws: StanzaError(.jidMalformed, "the attribute 'to' of <message/> is no address")) { try message.to() }
  }

  /// RFC 6121 5.2.2: absent and unknown are normal.
  @Test(arguments: MessageType.allCases) func messageType(type: MessageType) throws {
    #expect(try stanza("<message type='\(type.text)'/>").messageType == type)
    #expect(try stanza("<message/>").messageType == .normal)
    #expect(try stanza("<message type='Chat'/>").messageType == .normal)
    #expect(try stanza("<iq type='error'/>").messageType == .normal)
  }

  /// RFC 6121 4.7.1.
  @Test(arguments: PresenceType.allCases) func presenceType(type: PresenceType) throws {
    let attribute = type.text.map { " type='\($0)'" } ?? ""
    #expect(try stanza("<presence\(attribute)/>").presenceType == type)
    #expect(try stanza("<presence type='available'/>").presenceType == nil)
  }

  @Test(arguments: IQType.allCases) func iqType(type: IQType) throws {
    #expect(try stanza("<iq type='\(type.text)'/>").iqType == type)
    #expect(try stanza("<iq/>").iqType == nil)
    #expect(type.isRequest == (type == .get || type == .set))
  }

  /// RFC 6120 8.3.1 rule 8 and 8.2.3 rule 4.
  @Test func mayBeAnswered() throws {
    #expect(try stanza("<message/>").mayBeAnswered)
    #expect(try !stanza("<message type='error'/>").mayBeAnswered)
    #expect(try !stanza("<presence type='error'/>").mayBeAnswered)
    #expect(try stanza("<iq type='get'/>").mayBeAnswered)
    #expect(try stanza("<iq type='subscribe'/>").mayBeAnswered)
    #expect(try !stanza("<iq type='result'/>").mayBeAnswered)
    #expect(try !stanza("<iq type='error'/>").mayBeAnswered)
  }

  /// RFC 6120 8.2.3.
  @Test(arguments: [
    "<iq type='get' id='1'><ping xmlns='urn:xmpp:ping'/></iq>", "<iq type='result' id='1'/>",
    "<iq type='result' id='1'><a/></iq>", "<iq type='error' id='1'><a/><error type='cancel'/></iq>",
    "<iq type='get' id=''><a/></iq>", "<presence/>", "<message type='anything'/>",
  ])
  func valid(xml: String) throws {
    #expect(throws: Never.self) { try stanza(xml).validate() }
  }

  @Test(arguments: [
    ("<iq type='get'><a/></iq>", "iq without id"),
    ("<iq id='1'><a/></iq>", "iq without a type of get, set, result or error"),
    (
      "<iq id='zj3v142b' type='subscribe'><ping xmlns='urn:xmpp:ping'/></iq>",
      "iq without a type of get, set, result or error"
    ),
    ("<iq type='get' id='1'/>", "an iq request has exactly one child element"),
    ("<iq type='set' id='1'><a/><b/></iq>", "an iq request has exactly one child element"),
    ("<iq type='result' id='1'><a/><b/></iq>", "an iq result has at most one child element"),
    ("<presence type='invisible'/>", "unknown type of presence"),
  ])
  func invalid(xml: String, rule: String) throws {
    #expect(throws: StanzaError(.badRequest, rule)) { try stanza(xml).validate() }
  }

  @Test func payload() throws {
    #expect(try stanza("<iq type='get' id='1'>\n<ping xmlns='urn:xmpp:ping'/></iq>").payload?.is(.ping) == true)
    #expect(try stanza("<iq type='result' id='1'/>").payload == nil)
  }

  @Test func reply() throws {
    let request = try stanza(
      "<iq type='get' id='p&apos;1' to='im.example.com' from='juliet@im.example.com/balcony'><ping xmlns='urn:xmpp:ping'/></iq>"
    )
    let swapped = written {
      request.openReply(type: "result", into: &$0)
      $0.close()
    }
    #expect(
      try element(swapped)
        == element("<iq type='result' id='p&apos;1' from='im.example.com' to='juliet@im.example.com/balcony'/>"))
    let addressed = written {
      request.openReply(type: "result", into: &$0, from: "a", to: "b")
      $0.close()
    }
    #expect(try element(addressed) == element("<iq type='result' id='p&apos;1' from='a' to='b'/>"))
  }
}

@Suite struct PayloadTests {
  private static let sample =
    "<x a='1' b='' n=' -12 ' u='4294967295' t='true' f='0' j='romeo@example.net' s='1969-07-21T02:56:15Z'><y>text</y></x>"

  @Test func readsFields() throws {
    let x = try element(Self.sample)
    #expect(try x.required("a") == "1")
    #expect(try x.required("b") == "")
    #expect(try x.integer("n") == -12)
    #expect(try x.unsigned("u") == .max)
    #expect(try x.boolean("t") == true)
    #expect(try x.boolean("f") == false)
    #expect(try x.boolean("missing") == nil)
    #expect(try x.integer("missing") == nil)
    #expect(try x.unsigned("missing") == nil)
    #expect(try x.jid("missing") == nil)
    #expect(try x.timestamp("missing") == nil)
    #expect(try x.requiredJID("j").description == "romeo@example.net")
    #expect(try x.timestamp("s")?.milliseconds == -14_159_025_000)
  }

  @Test func namesWhatIsMissing() throws {
    let x = try element(Self.sample)
    #expect(throws: StanzaError(.badRequest, "<x/> lacks the attribute 'id'")) { try x.required("id") }
    #expect(throws: StanzaError(.badRequest, "the attribute 'b' of <x/> is empty")) { try x.requiredNonEmpty("b") }
    #expect(throws: StanzaError(.badRequest, "<x/> lacks the element <z/>")) { try x.required(Name("z", NS.client)) }
    #expect(throws: StanzaError(.badRequest, "<x/> lacks the attribute 'id'")) { try x.requiredJID("id") }
    #expect(throws: StanzaError(.badRequest, "the attribute 'j' of <x/> is no whole number")) { try x.integer("j") }
    #expect(throws: StanzaError(.badRequest, "the attribute 'n' of <x/> is no number from 0 to 4294967295")) {
      try x.unsigned("n")
    }
    #expect(throws: StanzaError(.badRequest, "the attribute 'n' of <x/> is no boolean")) { try x.boolean("n") }
    #expect(throws: StanzaError(.badRequest, "the attribute 'a' of <x/> is no date and time of XEP-0082")) {
      try x.timestamp("a")
    }
    #expect(throws: StanzaError(.jidMalformed, "the attribute 'b' of <x/> is no address")) { try x.requiredJID("b") }
  }

  @Test(
    arguments: [
      ("0", 0), ("+7", 7), ("-0", 0), ("9223372036854775807", Int.max), ("-9223372036854775807", -Int.max),
      ("9223372036854775808", nil), ("99999999999999999999999", nil), ("", nil), ("-", nil), ("1.5", nil),
      ("0x10", nil),
      ("1 2", nil), ("１", nil),
    ] as [(String, Int?)])
  func decimal(text: String, value: Int?) {
    #expect(bytes(text).withUnsafeBytes { Decimal.signed($0) } == value)
  }

  @Test(
    arguments: [("4294967295", UInt32.max), ("4294967296", nil), ("-1", nil), ("", nil), ("\t5\n", 5)]
      as [(String, UInt32?)])
  func unsigned(text: String, value: UInt32?) {
    #expect(bytes(text).withUnsafeBytes { Decimal.unsigned32($0) } == value)
  }

  /// XEP-0203 3, the example "Receiving a Message Sent While Offline".
  @Test func delay() throws {
    let message = try element(
      "<message><delay xmlns='urn:xmpp:delay' from='capulet.com' stamp='2002-09-10T23:08:25Z'>Offline Storage</delay></message>"
    )
    let delay = try #require(try message.payload(Delay.self))
    #expect(
      delay == Delay(stamp: Timestamp(milliseconds: 1_031_699_305_000), from: "capulet.com", reason: "Offline Storage"))
    let again = written { delay.write(into: &$0) }
    #expect(
      again
        == "<delay xmlns='urn:xmpp:delay' from='capulet.com' stamp='2002-09-10T23:08:25.000Z'>Offline Storage</delay>")
    #expect(try Delay(element(again)) == delay)
    #expect(throws: StanzaError(.badRequest, "<delay/> lacks the attribute 'stamp'")) {
      try Delay(element("<delay xmlns='urn:xmpp:delay'/>"))
    }
    #expect(try element("<message/>").payload(Delay.self) == nil)
  }
}
