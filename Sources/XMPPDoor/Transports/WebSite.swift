public import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore
import XMLStream
import XMPP

/// XMPP on the HTTP port: WebSocket (RFC 7395), BOSH (XEP-0124, XEP-0206), and where both are (XEP-0156, XEP-0487).
///
/// Both are for who reaches the port privately: over TLS that ends here, or from this machine, where a proxy may have ended
/// it. Whoever comes over a network in the clear is refused, as STARTTLS would be demanded of them on TCP.
///
/// A page of any origin may use them: nothing that a browser adds by itself (cookies, certificates of clients) counts, only
/// what the client says on its stream. The header `Origin` is not looked at for that reason.
///
/// There is no channel binding: a page in a browser has no way to learn the value, and behind a proxy this end has none.
extension XMPPListener {
  public static let webSocketPath = "/xmpp-websocket"
  public static let boshPath = "/http-bind"

  public func site(_ hostMeta: HostMeta) -> HTTPSite {
    let bosh = BOSHSessions(self, group)
    let socket = HTTPSocket(
      path: Self.webSocketPath, subprotocol: "xmpp", messageBytesMax: ReaderLimits.authenticated.stanzaBytes,
      fragmentsMax: DoorLimits.fragmentsMax, refusal: Self.refusal
    ) { [self] channel, peer in
      let connection = try connect(on: channel.eventLoop, framing: .messages, isSecured: true, peer: peer.address)
      try channel.pipeline.syncOperations.addHandler(WebSocketTransport(connection, on: channel))
    }
    let routes = [
      HTTPRoute(.post, Self.boshPath) { request, context in
        let peer = context.peer(of: request)
        if let refusal = Self.refusal(peer) { throw refusal }
        let bytesMax = ReaderLimits.authenticated.stanzaBytes + DoorLimits.bodyOverheadBytes
        let body: ByteBuffer
        do { body = try await request.body.collect(upTo: bytesMax) } catch is NIOTooManyBytesError {
          throw HTTPRefusal(
            status: 413, code: "body-too-large", detail: "The body of this request has at most \(bytesMax) bytes.",
            headers: Self.anyOrigin)
        }
        let response = await bosh.answer(to: body, from: peer.address)
        // XEP-0124 7.1 has a client choose the type. What others wrote would then be what the client's page says it is: it is
        // XML, always.
        var headers = Self.anyOrigin
        headers[.contentType] = "text/xml; charset=utf-8"
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: response))
      },
      // Browsers ask before they send XML to another origin.
      HTTPRoute(.options, Self.boshPath) { _, _ in
        var headers = Self.anyOrigin
        headers[.accessControlAllowMethods] = "POST"
        headers[.accessControlAllowHeaders] = "Content-Type"
        headers[.accessControlMaxAge] = "86400"
        return Response(status: .noContent, headers: headers)
      },
    ]
    return HTTPSite(routes: routes + hostMeta.routes, sockets: [socket], stop: { bosh.stop() })
  }

  static let anyOrigin: HTTPFields = [.accessControlAllowOrigin: "*"]

  private static func refusal(_ peer: HTTPPeer) -> HTTPRefusal? {
    if peer.isPrivate { return nil }
    return HTTPRefusal(
      status: 403, code: "tls-required", detail: "XMPP is spoken here over TLS only.", headers: anyOrigin)
  }
}
