public import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore
import XMLStream
import XMPP

/// XMPP on the HTTP port: WebSocket (RFC 7395), BOSH (XEP-0124, XEP-0206), and their discovery (XEP-0156, XEP-0487).
///
/// Both require a private connection: over TLS that ends here, or from this machine, where a proxy may have ended it. A
/// client in the clear over a network is refused, as STARTTLS would be required of it on TCP.
///
/// Pages of any origin may use them: nothing that a browser adds by itself (cookies, client certificates) counts, only
/// what the client sends on its stream. The header `Origin` is therefore ignored.
///
/// There is no channel binding: a page in a browser cannot learn the value, and behind a proxy this end has none.
extension XMPPListener {
  public static let webSocketPath = "/xmpp-websocket"
  public static let boshPath = "/http-bind"

  public func site(_ hostMeta: HostMeta) -> HTTPSite {
    let bosh = BOSHSessions(self, group)
    let socket = HTTPSocket(
      path: Self.webSocketPath, subprotocol: "xmpp", messageBytesMax: ReaderLimits.authenticated.stanzaBytes,
      bytesMaxBeforeLogin: ReaderLimits.unauthenticated.stanzaBytes, fragmentsMax: DoorLimits.fragmentsMax,
      refusal: Self.refusal
    ) { [self] channel, peer, onLogin in
      let connection = try connect(
        on: channel.eventLoop, framing: .messages, isSecured: true, peer: peer.address, onLogin: onLogin)
      do {
        try channel.pipeline.syncOperations.addHandler(WebSocketTransport(connection, on: channel))
      } catch {
        connection.lost()
        throw error
      }
    }
    let routes = [
      HTTPRoute(.post, Self.boshPath) { request, context in
        let peer = context.peer(of: request)
        if let refusal = Self.refusal(peer) { throw refusal }
        let body = try await context.body(of: request, upTo: BOSHSessions.bytesMaxBeforeLogin) {
          bosh.isLoggedIn($0) ? BOSHSessions.bytesMax : nil
        }
        let response = await bosh.answer(
          to: body, from: peer.address, onLogin: { context.noteLogin() },
          whenClientLeaves: { context.whenClientLeaves($0) })
        // XEP-0124 7.1 has the client choose the type. Others' content would then have the type that the client's page
        // says: it is always XML.
        let headers: HTTPFields = [
          .contentType: "text/xml; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: response))
      }
    ]
    return HTTPSite(routes: routes + hostMeta.routes, sockets: [socket], stop: { bosh.stop() })
  }

  private static func refusal(_ peer: HTTPPeer) -> HTTPRefusal? {
    if peer.isPrivate { return nil }
    return HTTPRefusal(status: 403, code: "tls-required", detail: "XMPP is spoken here over TLS only.")
  }
}
