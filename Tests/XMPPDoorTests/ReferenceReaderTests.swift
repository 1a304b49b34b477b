import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("References to an earlier message")
struct ReferenceReaderTests {
  @Test("XEP-0308 Example 2") func correction() throws {
    let read = try draft(
      "<message><body>But soft</body><replace id='bad1' xmlns='urn:xmpp:message-correct:0'/></message>")
    #expect(read.reference?.kind == .correction)
    #expect(read.reference?.target == .stanza("bad1"))
    #expect(read.isKept)
    #expect(try draft("<message><replace xmlns='urn:xmpp:message-correct:0'/></message>").reference == nil)
  }

  @Test("XEP-0444: no more than are shown") func reactions() throws {
    let many = (0..<50).map { "<reaction>\($0)</reaction>" }.joined()
    let read = try draft(
      "<message><reactions id='744f' xmlns='urn:xmpp:reactions:0'>\(many)</reactions></message>")
    guard case .reactions(let emoji)? = read.reference?.kind else {
      Issue.record("no reactions")
      return
    }
    #expect(emoji == (0..<Limits.reactionsMax).map { "\($0)" })
  }

  /// A correction of a reply repeats the reply, in either order.
  @Test func correctionOfAReply() throws {
    let (replace, reply) = (
      "<replace id='a' xmlns='urn:xmpp:message-correct:0'/>", "<reply id='b' xmlns='urn:xmpp:reply:0'/>"
    )
    for children in [replace + reply, reply + replace] {
      let read = try draft("<message>\(children)</message>")
      #expect(read.reference?.kind == .correction)
      #expect(read.reference?.target == .stanza("a"))
    }
  }

  private func shown(_ body: String, _ fallback: String) throws -> String {
    var read = try draft("<message>\(fallback)</message>")
    read.body = body
    return read.text
  }

  private func fallback(_ ranges: String, for namespace: String = "urn:xmpp:reply:0") -> String {
    "<fallback xmlns='urn:xmpp:fallback:0' for='\(namespace)'>\(ranges)</fallback>"
  }

  @Test("XEP-0428 Example 1") func quoteOfAReply() throws {
    let body = "> Anna wrote:\n> Hi, how are you?\nGreat"
    #expect(try shown(body, fallback("<body start='0' end='33'/>")) == "Great")
    // XEP-0426: code points, not bytes, not UTF-16.
    #expect(try shown("> \u{1F468}\u{200D}\u{1F469}\u{F6}\nyes", fallback("<body start='0' end='7'/>")) == "yes")
    #expect(try shown("a>b>c", fallback("<body start='1' end='2'/><body start='3' end='4'/>")) == "abc")
    #expect(try shown("abc> d", fallback("<body start='3' end='99'/>")) == "abc")
  }

  @Test func textThatIsNoQuoteStays() throws {
    for ranges in [
      "", "<body/>", "<subject start='0' end='2'/>", "<body start='2' end='2'/>", "<body start='3' end='1'/>",
      "<body start='-1' end='2'/>", "<body start='x' end='2'/>", "<body start='0'/>",
      // All of it: then it stands in for nothing.
      "<body start='0' end='4'/>", "<body start='0' end='9223372036854775807'/>",
    ] { #expect(try shown("abcd", fallback(ranges)) == "abcd", "\(ranges)") }
    #expect(try shown("abcd", fallback("<body start='0' end='2'/>", for: "urn:xmpp:reactions:0")) == "abcd")
    #expect(try shown("abcd", "") == "abcd")
    #expect(try draft("<message/>").text == "")
  }
}
