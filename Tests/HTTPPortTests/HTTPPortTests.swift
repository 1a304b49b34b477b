import Basics
import HTTPTypes
import NIOCore
import NIOHTTP1
import ServerMetrics
import Testing

@testable import HTTPPort

@Suite struct AddressTests {
  @Test(arguments: [
    ("127.0.0.1", nil, "127.0.0.1"), ("192.0.2.7", "198.51.100.1", "192.0.2.7"),
    ("127.0.0.1", "198.51.100.1", "198.51.100.1"), ("127.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
    ("::1", "[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2"), ("2001:db8::1", nil, "2001:db8:0:0"),
    ("::ffff:192.0.2.7", nil, "192.0.2.7"),
    // Ports and brackets.
    ("127.0.0.1", "198.51.100.1:4711", "198.51.100.1"), ("127.0.0.1", "[2001:db8::1]:80", "2001:db8:0:0"),
    ("127.0.0.1", "2001:db8::1", "2001:db8:0:0"), ("127.0.0.1", "[::ffff:192.0.2.7]:1", "192.0.2.7"),
    ("127.0.0.1", "fe80::1%eth0", "fe80:0:0:0"),
    // Several proxies: the last that is not a trusted one. A list may have empty elements.
    ("127.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2, 127.0.0.1", "198.51.100.1"),
    ("10.0.0.2", "198.51.100.1", "198.51.100.1"), ("::ffff:10.0.0.2", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.3", "198.51.100.1", "10.0.0.3"), ("127.0.0.1", "198.51.100.1, ,", "198.51.100.1"),
    ("127.0.0.1", "10.0.0.2", "10.0.0.2"), ("127.0.0.1", "", "127.0.0.1"),
    // Names: not the address that all clients of the proxy share, and not what the client may have made up.
    ("127.0.0.1", "6.6.6.6, unknown", "unknown"), ("127.0.0.1", "6.6.6.6, _hidden:4711", "_hidden"),
    ("127.0.0.1", "6.6.6.6, \"quoted\"", "unreadable"), ("127.0.0.1", "6.6.6.6, [2001", "unreadable"),
    ("127.0.0.1", "[2001:db8::1]x", "unreadable"), ("127.0.0.1", "[2001:db8::1]:_port", "2001:db8:0:0"),
    // A scalar that joins with the comma behind it to one character must not swallow what the proxy has added.
    ("127.0.0.1", "[6.6.6.6]\u{600}, 198.51.100.1", "198.51.100.1"),
    ("127.0.0.1", "6.6.6.6%\u{600},198.51.100.1", "198.51.100.1"), ("127.0.0.1", "6.6.6.6:1\u{600}", "unreadable"),
    ("127.0.0.1", "6.6.6.6,\u{301}198.51.100.1", "unreadable"), ("127.0.0.1", "198.51.100.1\u{301}", "unreadable"),
    // CR, LF and NUL end a line or a text elsewhere.
    ("127.0.0.1", "198.51.100.1\u{0}x", "unreadable"), ("127.0.0.1", "6.6.6.6\r\n198.51.100.1", "unreadable"),
    ("127.0.0.1", "6.6.6.6\r\n, 198.51.100.1", "198.51.100.1"),
  ])
  func limitsCountTheClientsAddress(remote: String, forwarded: String?, expected: String) throws {
    let address = try SocketAddress(ipAddress: remote, port: 1)
    let proxies = TrustedProxies([Network("10.0.0.2")].compactMap { $0 })
    #expect(ClientAddress.of(ForwardedFields(xForwardedFor: forwarded), address, proxies) == expected)
  }

  /// A request may be handled when its connection has been reset: NIO knows no address of it then.
  @Test func aConnectionThatHasEndedNamesNobody() throws {
    let fields = ForwardedFields(xForwardedFor: "198.51.100.1", xForwardedProto: "https")
    let peer = HTTPPeer(nil, isSecure: false, fields, TrustedProxies())
    #expect(peer.address == "unknown" && !peer.isPrivate)
    let proxy = try SocketAddress(unixDomainSocketPath: "/run/proxy")
    #expect(HTTPPeer(proxy, isSecure: false, fields, TrustedProxies()).address == "198.51.100.1")
  }

  /// A client may send a long list; the last element is the proxy's.
  @Test func ofManyElementsTheLastCounts() throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    let forged = String(repeating: "6.6.6.6, ", count: 10_000)
    let commas = String(repeating: ",", count: 100_000)
    for text in ["\(forged)198.51.100.1", "\(commas)198.51.100.1\(commas)"] {
      let fields = ForwardedFields(xForwardedFor: text)
      #expect(ClientAddress.of(fields, address, TrustedProxies()) == "198.51.100.1")
    }
    var lines = HTTPHeaders()
    for _ in 0..<10_000 { lines.add(name: "X-Forwarded-For", value: "6.6.6.6") }
    lines.add(name: "x-forwarded-for", value: "198.51.100.1")
    #expect(ClientAddress.of(ForwardedFields(lines), address, TrustedProxies()) == "198.51.100.1")
    let pairs = String(repeating: "for=6.6.6.6;x=\"a,b\", ", count: 10_000)
    let standard = ForwardedFields(forwarded: "\(pairs)for=198.51.100.1")
    #expect(ClientAddress.of(standard, address, TrustedProxies()) == "198.51.100.1")
    // The log shows the name, and tables have it as their key.
    for count in [65, 1_000_000] {
      let name = ForwardedFields(xForwardedFor: String(repeating: "a", count: count))
      #expect(ClientAddress.of(name, address, TrustedProxies()) == "unreadable")
    }
  }

  /// RFC 7239 4 and 6, whose examples some of these are.
  @Test(arguments: [
    ("for=192.0.2.43", "192.0.2.43"), ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe:0"),
    ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
    ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"), ("for=\"_gazonk\"", "_gazonk"),
    ("for=192.0.2.43, 6.6.6.6", "unreadable"), ("for=192.0.2.43, for=unknown", "unknown"),
    ("for=192.0.2.43, by=10.0.0.2", "unknown"),
    ("host=\"a,for=6.6.6.6\";for=192.0.2.43", "192.0.2.43"), ("for=\"192.0.2\\.43:1\"", "192.0.2.43"),
    // The client's own quote, and the pair that the proxy has added.
    ("for=6.6.6.6;x=\", for=192.0.2.43", "unreadable"), ("for=6.6.6.6;for=192.0.2.43", "unreadable"),
    ("for=6.6.6.6%\u{600}, for=192.0.2.43", "192.0.2.43"),
  ])
  func theStandardFieldIsRead(forwarded: String, expected: String) throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    #expect(ClientAddress.of(ForwardedFields(forwarded: forwarded), address, TrustedProxies()) == expected)
    // A proxy that sets the other one passes this one on as the client has made it up.
    let both = ForwardedFields(xForwardedFor: "198.51.100.1", forwarded: forwarded)
    #expect(ClientAddress.of(both, address, TrustedProxies()) == "198.51.100.1")
  }

  /// A field in several lines is one list (RFC 9110 5.3).
  @Test func fieldsInSeveralLinesAreOneList() throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    let headers: HTTPHeaders = ["X-Forwarded-For": "6.6.6.6", "x-forwarded-for": "198.51.100.1"]
    var fields = HTTPFields()
    fields.append(HTTPField(name: .forwardedFor, value: "6.6.6.6"))
    fields.append(HTTPField(name: .forwardedFor, value: "198.51.100.1"))
    for forwarded in [ForwardedFields(headers), ForwardedFields(fields)] {
      #expect(ClientAddress.of(forwarded, address, TrustedProxies()) == "198.51.100.1")
    }
  }

  /// Plain HTTP is private where it stays on this machine.
  @Test(arguments: [
    ("192.0.2.7", nil, false, false), ("192.0.2.7", nil, true, true), ("192.0.2.7", "https", false, false),
    ("127.0.0.1", nil, false, true), ("::1", "https", false, true), ("::ffff:127.0.0.1", "wss", false, true),
    ("127.0.0.1", "http", false, false), ("127.0.0.1", "WS", false, false), ("127.0.0.1", "http", true, true),
    ("10.0.0.2", "https", false, true), ("10.0.0.2", nil, false, false), ("10.0.0.2", "http", false, false),
  ])
  func connectionsThatCrossNoNetworkUnencrypted(
    remote: String, forwarded: String?, isSecure: Bool, isPrivate: Bool
  ) throws {
    let address = try SocketAddress(ipAddress: remote, port: 1)
    let proxies = TrustedProxies([Network("10.0.0.2")].compactMap { $0 })
    let fields = [
      ForwardedFields(xForwardedProto: forwarded),
      ForwardedFields(forwarded: forwarded.map { "for=192.0.2.1;proto=\($0)" }),
    ]
    for field in fields {
      let peer = HTTPPeer(address, isSecure: isSecure, field, proxies)
      #expect(peer.isPrivate == isPrivate && peer.isSecure == isSecure)
    }
  }
}

@Suite struct RateLimitFieldTests {
  /// Structured fields (RFC 9651): a string and its parameters, in the order of the draft.
  @Test func theHeadersTellQuotaAndRemainder() {
    var headers = HTTPFields()
    headers.tellRate(policy: "searches", quota: 20, window: 20, unit: nil, remaining: 19, reset: 1)
    #expect(headers[.rateLimit] == "\"searches\";r=19;t=1")
    #expect(headers[.rateLimitPolicy] == "\"searches\";q=20;w=20")
    headers.tellRate(policy: "hashes", quota: 5, window: nil, unit: "parley-hashes", remaining: 5, reset: nil)
    #expect(headers[.rateLimit] == "\"hashes\";r=5")
    #expect(headers[.rateLimitPolicy] == "\"hashes\";q=5;qu=\"parley-hashes\"")
  }

  @Test func aRateThatIsNotKnownIsNotTold() {
    var headers = HTTPFields()
    headers.tellRate(policy: "slow-mode", quota: nil, window: nil, unit: nil, remaining: 0, reset: 7)
    #expect(headers[.rateLimit] == "\"slow-mode\";r=0;t=7" && headers[.rateLimitPolicy] == nil)
  }
}

@Suite struct UpgradeTests {
  private func socket(_ path: String, _ subprotocol: String, refusal: HTTPRefusal? = nil) -> HTTPSocket {
    HTTPSocket(
      path: path, subprotocol: subprotocol, messageBytesMax: 1_000, fragmentsMax: 4, refusal: { _ in refusal }
    ) { _, _, _ in }
  }

  private func mayUpgrade(_ uri: String = "/v1/ws", _ changes: [(String, String?)] = []) -> Bool {
    var headers: HTTPHeaders = [
      "host": "localhost:8080", "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-protocol": "other, parley.v1",
    ]
    for (name, value) in changes {
      headers.remove(name: name)
      if let value { headers.add(name: name, value: value) }
    }
    let sockets = [
      socket("/v1/ws", "parley.v1"), socket("/xmpp", "xmpp"),
      socket("/closed", "parley.v1", refusal: HTTPRefusal(status: 403, code: "closed", detail: "Closed.")),
    ]
    return FirstRequestHandler(
      sockets: sockets, origins: AllowedOrigins(["https://app.example"]), proxies: TrustedProxies(), isSecure: false,
      metrics: Metrics()
    )
    .mayUpgrade(HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: headers), nil)
  }

  @Test func onlyWhatAWebSocketIsForUpgrades() {
    #expect(mayUpgrade())
    #expect(mayUpgrade("/v1/ws?x=1"))
    #expect(mayUpgrade("/v1/ws", [("upgrade", "WebSocket")]))
    #expect(mayUpgrade("/xmpp", [("sec-websocket-protocol", "xmpp")]))
    #expect(!mayUpgrade("/xmpp"))
    #expect(!mayUpgrade("/closed"))
    #expect(!mayUpgrade("/v1/ws2"))
    #expect(!mayUpgrade("/v1/users"))
    #expect(!mayUpgrade("/v1/ws", [("sec-websocket-protocol", nil)]))
    #expect(!mayUpgrade("/v1/ws", [("sec-websocket-protocol", "xmpp")]))
    #expect(!mayUpgrade("/v1/ws", [("sec-websocket-version", "8")]))
    #expect(!mayUpgrade("/v1/ws", [("sec-websocket-key", nil)]))
    #expect(!mayUpgrade("/v1/ws", [("upgrade", "h2c")]))
    #expect(!mayUpgrade("/v1/ws", [("host", nil)]))
  }

  /// Browsers open WebSockets to any origin, and leave the refusal to the server.
  @Test func pagesOfOtherOriginsAreRefused() {
    for (origin, isAllowed) in [
      ("https://app.example", true), ("HTTPS://App.Example", true), ("http://localhost:8080", true),
      ("https://localhost:8080", true), ("https://evil.example", false), ("https://app.example.evil.example", false),
      ("http://app.example", false), ("null", false), ("https://localhost", false),
      ("https://evil-localhost:8080", false),
    ] { #expect(mayUpgrade("/v1/ws", [("origin", origin)]) == isAllowed, "\(origin)") }
  }
}

/// RFC 9112 3.2.
@Suite struct HostTests {
  @Test(arguments: [
    (["localhost"], false), (["chat.example.org:8443"], false), (["[2001:db8::1]:8080"], false), (["[::1]"], false),
    (["localhost:"], false), (["a%20b"], false),
    ([], true), ([""], true), (["a", "a"], true), (["a b"], true), (["a/b"], true), (["user@a"], true), (["a:b"], true),
    (["[::1"], true), (["[::1]x"], true), ([":80"], true),
  ])
  func oneHostAndNoOther(hosts: [String], isWrong: Bool) {
    var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
    for host in hosts { head.headers.add(name: "Host", value: host) }
    #expect(HostHandler.isWrong(head) == isWrong)
    head.version = .http1_0
    #expect(HostHandler.isWrong(head) == (isWrong && !hosts.isEmpty))
  }
}
