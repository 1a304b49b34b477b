import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// RFC 7395 3.3: what one message says.
@Suite struct WebSocketTests {
  private func name(_ message: String) -> String {
    switch WebSocketTransport.event(ByteBuffer(string: message), limits: .unauthenticated) {
    case .opened(let header): "opened \(header.namespace) \(header.to ?? "")"
    case .element(let element): "element \(element.namespace) \(element.local)"
    case .closed: "closed"
    case .whitespace: "whitespace"
    case .violation(.limit): "limit"
    case .violation: "violation"
    }
  }

  @Test(arguments: [
    ("<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='d'/>", "opened urn:ietf:params:xml:ns:xmpp-framing d"),
    ("<open xmlns='urn:other' to='d'/>", "opened urn:other d"),
    ("<close xmlns='urn:ietf:params:xml:ns:xmpp-framing'/>", "closed"),
    ("<close xmlns='urn:other'/>", "element urn:other close"),
    ("<iq xmlns='jabber:client'/>", "element jabber:client iq"),
    // Nothing is in scope that the message does not declare itself.
    ("<iq/>", "element  iq"), ("<stream:features/>", "violation"),
    ("", "violation"), (" <iq xmlns='jabber:client'/>", "violation"), ("<iq xmlns='jabber:client'>", "violation"),
    ("<a xmlns='n'/><b xmlns='n'/>", "violation"), ("<!DOCTYPE a><a xmlns='n'/>", "violation"),
    ("\u{feff}<a/>", "violation"),
  ])
  func oneMessageIsOneElement(message: String, expected: String) { #expect(name(message) == expected) }

  @Test func aMessageIsBounded() {
    #expect(name("<a xmlns='n'>" + String(repeating: "x", count: 16_384) + "</a>") == "limit")
  }
}
