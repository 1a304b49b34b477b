import Dialogs
import Testing

@testable import XMPPDoor

/// Returns the elements of a message that says this in XHTML-IM as well.
private func html(_ text: String, beside elements: String) -> String {
  "<html xmlns='http://jabber.org/protocol/xhtml-im'><body xmlns='http://www.w3.org/1999/xhtml'>\(text)</body></html>\(elements)"
}

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
      "<subject>damn</subject><replace xmlns='urn:xmpp:message-correct:0' id='1'/><body>damn</body>"
        + "<fallback xmlns='urn:xmpp:fallback:0'/><spoiler xmlns='urn:xmpp:spoiler:0'>damn</spoiler>",
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
      // What one or another client shows, once.
      ("<body>hello</body><body xml:lang='de'>mist</body><body xml:lang='fr'>hello</body>", .text, "hello\nmist"),
      ("<subject>spam</subject>", .text, "spam"),
      ("<subject>spam</subject><body>hello</body>", .text, "hello\nspam"),
      ("<spoiler xmlns='urn:xmpp:spoiler:0'>spam</spoiler><body>hello</body>", .text, "hello\nspam"),
      (html("<p>I <b>do not</b> hate</p>", beside: ""), .text, "I do not hate"),
      (html("<p>one <b>two</b></p>", beside: "<body>one\ntwo</body>"), .text, "one\ntwo"),
      ("<body>s p a m</body><body xml:lang='de'>spam</body>", .text, "s p a m\nspam"),
      (html("<p>see <img src='x' alt='spam'/></p>", beside: "<body>see</body>"), .text, "see\nx\nspam"),
      (
        "<body>spam hello</body><fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='5'/></fallback>",
        .text, "spam hello"
      ),
      ("<body>https://a.example/x</body><x xmlns='jabber:x:oob'><url>https://a.example/x</url></x>", .file, ""),
      (
        "<body>encrypted</body><encryption xmlns='urn:xmpp:eme:0' namespace='urn:xmpp:otr:0'/>", .encrypted,
        "encrypted"
      ),
      ("<composing xmlns='http://jabber.org/protocol/chatstates'/>", nil, ""), ("", nil, ""),
    ] as [(String, Content.Kind?, String)])
  func whatIsShownOfAStanza(extras: String, kind: Content.Kind?, text: String) {
    let content = BeforeSendRewriting().shown(Content(kind: .none, extras: Array(extras.utf8)))
    #expect(content?.kind == kind && content?.text ?? "" == text)
  }
}
