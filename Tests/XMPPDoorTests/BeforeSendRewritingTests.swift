import Dialogs
import Testing

@testable import XMPPDoor

/// What a backend is asked about an XMPP message, and a backend's replacement of the text of an XMPP message.
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

  @Test(
    arguments: [
      ("<body>damn</body><no-store xmlns='urn:xmpp:hints'/>", .text, "damn"),
      (
        "<body>encrypted</body><encryption xmlns='urn:xmpp:eme:0' namespace='urn:xmpp:otr:0'/>", .encrypted,
        "encrypted"
      ),
      ("<composing xmlns='http://jabber.org/protocol/chatstates'/>", nil, ""), ("", nil, ""),
    ] as [(String, Content.Kind?, String)])
  func whatIsShownOfAStanza(extras: String, kind: Content.Kind?, text: String) {
    let content = BeforeSendRewriting().content(of: Array(extras.utf8))
    #expect(content?.kind == kind && content?.text ?? "" == text)
  }
}
