import HTTPPort
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import XMLStream

/// The alternative ways to connect: `/.well-known/host-meta` for clients that cannot query the DNS (XEP-0156 1.4.0),
/// and with addresses and priorities for those that query nothing else (XEP-0487 0.1.0). Only running services are
/// listed, and only those over TLS.
public struct HostMeta: Sendable {
  private let domains: [String]
  private let base: @Sendable (String) -> String?
  private let addresses: [String]
  private let directTLSPort: Int?

  ///
  /// - Parameters:
  ///   - domains: the served domains, the default first.
  ///   - addresses: the IP addresses of all services. Without any, XEP-0487 is left out, since its clients take its
  ///     answer to be complete.
  ///   - directTLSPort: the public port of XMPP over direct TLS; `nil` if there is none.
  ///   - base: the URL of the HTTP port for a domain, without a slash at its end; `nil` if it cannot be reached.
  public init(
    domains: [String], addresses: [String] = [], directTLSPort: Int? = nil,
    base: @escaping @Sendable (String) -> String?
  ) {
    self.domains = domains
    self.base = base
    self.addresses = addresses
    self.directTLSPort = directTLSPort
  }

  var routes: [HTTPRoute] {
    [
      HTTPRoute(.get, "/.well-known/host-meta") { request, _ in
        Self.response("application/xrd+xml", xrd(for: domain(request)))
      },
      HTTPRoute(.get, "/.well-known/host-meta.json") { request, _ in
        Self.response("application/json", jrd(for: domain(request)))
      },
    ]
  }

  /// Returns the domain that a request's Host names; the default one where a proxy has put another name there.
  private func domain(_ request: Request) -> String {
    let host = (request.head.authority ?? "").prefix { $0 != ":" }.lowercased()
    return domains.first { $0 == host } ?? domains.first ?? ""
  }

  private static func response(_ type: String, _ bytes: [UInt8]) -> Response {
    let headers: HTTPFields = [
      // XEP-0156 5.1: pages of every origin look for it.
      .accessControlAllowOrigin: "*", .contentType: type, .cacheControl: "max-age=\(seconds)",
    ]
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// The seconds for which the answer may be cached: it changes with the configuration only.
  private static let seconds = 3_600

  // MARK: Documents

  /// Returns the links by their relation (XEP-0156 3).
  func links(for domain: String) -> [(relation: String, url: String)] {
    guard let url = base(domain), url.hasPrefix("https://") else { return [] }
    return [
      ("urn:xmpp:alt-connections:websocket", "wss" + url.dropFirst(5) + XMPPListener.webSocketPath),
      ("urn:xmpp:alt-connections:xbosh", url + XMPPListener.boshPath),
    ]
  }

  private static let namespace: StaticString = "http://docs.oasis-open.org/ns/xri/xrd-1.0"

  func xrd(for domain: String) -> [UInt8] {
    var writer = ElementWriter(defaultNamespace: "")
    writer.raw("<?xml version='1.0' encoding='utf-8'?>")
    writer.element(Name("XRD", Self.namespace)) { writer in
      for (relation, url) in links(for: domain) {
        writer.element(Name("Link", Self.namespace), ["rel": relation, "href": url])
      }
    }
    return Array(writer.buffer.readableBytesView)
  }

  func jrd(for domain: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("links")
    writer.beginArray()
    var priority = 0
    func link(_ relation: String, _ url: String?, port: Int? = nil) {
      writer.beginObject()
      writer.member("href", url)
      if !addresses.isEmpty {
        // The cheapest first: TLS, then a WebSocket, then requests.
        priority += 10
        writer.member("ips", addresses)
        writer.member("port", port)
        writer.member("priority", priority)
      }
      writer.member("rel", relation)
      if !addresses.isEmpty {
        writer.member("sni", url.map(Self.host) ?? domain)
        writer.member("weight", 0)
      }
      writer.endObject()
    }
    if !addresses.isEmpty, let directTLSPort { link("urn:xmpp:alt-connections:tls", nil, port: directTLSPort) }
    for (relation, url) in links(for: domain) { link(relation, url) }
    writer.endArray()
    if !addresses.isEmpty {
      writer.name("xmpp")
      writer.beginObject()
      writer.member("ttl", Self.seconds)
      writer.endObject()
    }
    writer.endObject()
    return writer.bytes
  }

  /// Returns the host of a URL, for which TLS is set up.
  private static func host(of url: String) -> String {
    let authority = url.drop { $0 != ":" }.dropFirst(3).prefix { $0 != "/" }
    return String(authority.prefix { $0 != ":" })
  }
}
