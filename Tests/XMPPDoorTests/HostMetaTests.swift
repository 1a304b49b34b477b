import Testing
import XMLStream

@testable import XMPPDoor

/// XEP-0156 1.4.0, XEP-0487 0.1.0.
@Suite struct HostMetaTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func linksAreWhereThePortIs() throws {
    let meta = HostMeta(domains: ["a.example", "b.example"], directTLSPort: 5223) { "https://\($0):8443" }
    #expect(
      text(meta.xrd(for: "b.example"))
        == "<?xml version='1.0' encoding='utf-8'?><XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'><Link rel='urn:xmpp:alt-connections:websocket' href='wss://b.example:8443/xmpp-websocket'/><Link rel='urn:xmpp:alt-connections:xbosh' href='https://b.example:8443/http-bind'/></XRD>"
    )
    // Without addresses nothing claims to be all there is.
    #expect(
      text(meta.jrd(for: "a.example"))
        == #"{"links":[{"href":"wss://a.example:8443/xmpp-websocket","rel":"urn:xmpp:alt-connections:websocket"},"#
        + #"{"href":"https://a.example:8443/http-bind","rel":"urn:xmpp:alt-connections:xbosh"}]}"#)
  }

  @Test func addressesSayEverything() throws {
    let meta = HostMeta(domains: ["a.example"], addresses: ["192.0.2.1"], directTLSPort: 5223) { _ in
      "https://chat.example:8443/x"
    }
    let common = #""ips":["192.0.2.1"],"#
    let expected =
      #"{"links":["#
      + #"{\#(common)"port":5223,"priority":10,"rel":"urn:xmpp:alt-connections:tls","sni":"a.example","weight":0},"#
      + #"{"href":"wss://chat.example:8443/x/xmpp-websocket",\#(common)"priority":20,"#
      + #""rel":"urn:xmpp:alt-connections:websocket","sni":"chat.example","weight":0},"#
      + #"{"href":"https://chat.example:8443/x/http-bind",\#(common)"priority":30,"#
      + #""rel":"urn:xmpp:alt-connections:xbosh","sni":"chat.example","weight":0}],"xmpp":{"ttl":3600}}"#
    #expect(text(meta.jrd(for: "a.example")) == expected)
  }

  /// XEP-0156 3.1: https and wss only.
  @Test(arguments: ["http://a.example:8080", nil])
  func nothingIsToldOfPlainHTTP(url: String?) throws {
    let meta = HostMeta(domains: ["a.example"]) { _ in url }
    #expect(text(meta.jrd(for: "a.example")) == #"{"links":[]}"#)
  }
}
