import Testing
import XMLStream

@testable import XMPP

@Suite struct DialbackTests {
  /// XEP-0185 3 and XEP-0220 2.1.1, 2.2.2.
  @Test(arguments: [
    (
      "s3cr3tf0rd14lb4ck", "xmpp.example.com", "example.org", "D60000229F",
      "37c69b1cf07a3f67c04a5ef5902fa5114f2c76fe4a2686482ba5b89323075643"
    ),
    (
      "s3cr3tf0rd14lb4ck", "montague.example", "capulet.example", "D60000229F",
      "b4835385f37fe2895af6c196b59097b16862406db80559900d96bf6fa7d23df3"
    ),
    (
      "d14lb4ck43v3r", "capulet.example", "montague.example", "417GAF25",
      "225cc5aa6a071133249d25fef42ae516fc7a86c523aa1c6980a7f73e784c972d"
    ),
  ])
  func keys(secret: String, receiving: String, originating: String, id: String, key: String) {
    let pair = DirectedPair(sender: originating, target: receiving)
    #expect(DialbackSecret(bytes(secret)).key(of: pair, streamID: id) == key)
    #expect(DialbackSecret(bytes(secret)).isKey(key, of: pair, streamID: id))
    #expect(!DialbackSecret(bytes(secret)).isKey(key, of: pair.reversed, streamID: id))
  }

  private static let elements: [(String, Dialback)] = [
    (
      "<db:result from='a.example' to='b.example'>k1</db:result>",
      Dialback(.result, from: "a.example", to: "b.example", .key("k1"))
    ),
    (
      "<db:result from='a.example' to='b.example' type='valid'></db:result>",
      Dialback(.result, from: "a.example", to: "b.example", .valid)
    ),
    (
      "<db:result from='a.example' to='b.example' type='invalid'></db:result>",
      Dialback(.result, from: "a.example", to: "b.example", .invalid)
    ),
    (
      "<db:verify from='a.example' to='b.example' id='&lt;1&apos;'>k1</db:verify>",
      Dialback(.verify, from: "a.example", to: "b.example", id: "<1'", .key("k1"))
    ),
    (
      "<db:verify from='a.example' to='b.example' id='1' type='error'><error code='404' type='cancel'>"
        + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></db:verify>",
      Dialback(.verify, from: "a.example", to: "b.example", id: "1", .error(.itemNotFound))
    ),
  ]

  /// XEP-0220 2.4.1: with the prefix `db`.
  @Test(arguments: elements) func elementsAreWrittenAndRead(xml: String, dialback: Dialback) throws {
    #expect(written { dialback.write(into: &$0) } == xml)
    #expect(Dialback(try ServerStreams.element(xml)) == dialback)
  }

  @Test func whitespaceAroundAKeyIsNotPartOfIt() throws {
    #expect(
      Dialback(try ServerStreams.element("<db:result from='A.example' to='b.example'>\n  k1\n</db:result>"))
        == Dialback(.result, from: "a.example", to: "b.example", .key("k1")))
  }

  @Test(arguments: [
    "<db:result to='b.example'>k</db:result>", "<db:result from='a.example'>k</db:result>",
    "<db:result from='x@a.example' to='b.example'>k</db:result>", "<db:result from='a.example' to='b.example'/>",
    "<db:result from='a.example' to='b.example'>k k</db:result>",
    "<db:verify from='a.example' to='b.example'>k</db:verify>",
    "<db:verify from='a.example' to='b.example' id=''>k</db:verify>",
    "<db:result from='a.example' to='b.example' type='maybe'/>",
    "<db:other from='a.example' to='b.example'>k</db:other>",
    "<result from='a.example' to='b.example'>k</result>",
    "<db:result from='a.example' to='b.example'>\(String(repeating: "k", count: 1_025))</db:result>",
  ])
  func malformedElementsAreNone(xml: String) throws {
    #expect(Dialback(try ServerStreams.element(xml)) == nil)
  }
}

@Suite struct ServerElementTests {
  /// RFC 6120 4.7.1, XEP-0220 2.4.1.
  @Test func theInitialHeader() {
    #expect(
      written {
        StreamResponse.initial(from: "capulet.example", to: "montague.example", language: "en")
          .write(framing: .document, into: &$0)
      }
        == "<?xml version='1.0'?><stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams' "
        + "xmlns:db='jabber:server:dialback' from='capulet.example' to='montague.example' version='1.0' xml:lang='en'>")
  }

  @Test(arguments: [
    (ServerElement.startTLS, "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
    (
      .bidi(StreamLimits(maxBytes: 9)),
      "<bidi xmlns='urn:xmpp:bidi'><limits xmlns='urn:xmpp:stream-limits:0'><max-bytes>9</max-bytes></limits></bidi>"
    ),
    (
      .external("capulet.example"),
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>Y2FwdWxldC5leGFtcGxl</auth>"
    ),
    (.challenge, "<challenge xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"),
    (.enableManagement, "<enable xmlns='urn:xmpp:sm:3'/>"), (.managementEnabled, "<enabled xmlns='urn:xmpp:sm:3'/>"),
  ])
  func elements(_ element: ServerElement, xml: String) {
    #expect(written { element.write(into: &$0) } == xml)
  }
}
