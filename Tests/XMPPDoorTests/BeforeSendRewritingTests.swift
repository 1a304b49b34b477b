import Testing

@testable import XMPPDoor

/// A backend's replacement of the text of an XMPP message.
@Suite struct BeforeSendRewritingTests {
  @Test(arguments: [
    ("<body>damn</body>", "<body>d &amp; n</body>"),
    (
      "<origin-id xmlns='urn:xmpp:sid:0' id='1'/><body>damn</body><body xml:lang='de'>mist</body>"
        + "<html xmlns='http://jabber.org/protocol/xhtml-im'><body xmlns='http://www.w3.org/1999/xhtml'>damn</body></html>",
      "<body>d &amp; n</body><origin-id xmlns='urn:xmpp:sid:0' id='1'/>"
    ),
    (
      "<replace xmlns='urn:xmpp:message-correct:0' id='1'/><body>damn</body><fallback xmlns='urn:xmpp:fallback:0'/>",
      "<body>d &amp; n</body><replace xmlns='urn:xmpp:message-correct:0' id='1'/>"
    ),
  ])
  func theBodyIsAnotherAndTheRestStays(extras: String, rewritten: String) {
    let bytes = BeforeSendRewriting().extras(Array(extras.utf8), saying: "d & n")
    #expect(String(decoding: bytes, as: UTF8.self) == rewritten)
  }
}
