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
    // Whitespace in front of a header and its declaration is skipped.
    ("\r\n <open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='d'/>", "opened urn:ietf:params:xml:ns:xmpp-framing d"),
    ("\n<?xml version='1.0'?>\n<open xmlns='urn:other' to='d'/>", "opened urn:other d"),
    ("\n<close xmlns='urn:ietf:params:xml:ns:xmpp-framing'/>", "violation"), ("\n", "violation"),
    ("\u{B}<open xmlns='urn:other'/>", "violation"), ("\u{feff}<open xmlns='urn:other'/>", "violation"),
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
    let space = String(repeating: "\n", count: ReaderLimits.unauthenticated.headerBytes)
    #expect(name(space + "<open xmlns='u' to='d'/>") == "opened u d")
    #expect(name(space + "\n<open xmlns='u' to='d'/>") == "violation")
  }
}
