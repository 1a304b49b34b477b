public import HTTPTypes
public import Hummingbird
public import NIOCore

/// What a door offers on the HTTP port. The sites of one port share its paths: each path is of one site.
public struct HTTPSite: Sendable {
  public var routes: [HTTPRoute]
  public var sockets: [HTTPSocket]
  /// The port stops: requests that are held have to be answered now. WebSockets learn it
  /// from `ChannelShouldQuiesceEvent`.
  public var stop: @Sendable () -> Void

  public init(
    routes: [HTTPRoute] = [], sockets: [HTTPSocket] = [], stop: @escaping @Sendable () -> Void = {}
  ) {
    self.routes = routes
    self.sockets = sockets
    self.stop = stop
  }
}

/// One method of one path.
public struct HTTPRoute: Sendable {
  /// May throw an `HTTPRefusal`. The request's body is a stream that the handler reads, or leaves.
  public typealias Handler = @Sendable (Request, HTTPContext) async throws -> Response

  public let method: HTTPRequest.Method
  /// `/v1/users/{userId}`; `**` at the end stands for any rest. Who has GET has HEAD
  /// (RFC 9110 9.1); other methods of the path are answered with 405.
  public let path: String
  public let handle: Handler

  public init(_ method: HTTPRequest.Method, _ path: String, handle: @escaping Handler) {
    self.method = method
    self.path = path
    self.handle = handle
  }
}

/// A WebSocket (RFC 6455) at a path, for one subprotocol.
public struct HTTPSocket: Sendable {
  /// Adds the handlers that read and write `WebSocketFrame`, on the channel's loop. Fragments arrive joined.
  public typealias Opening = @Sendable (any Channel, HTTPPeer) throws -> Void

  public let path: String
  public let subprotocol: String
  /// Bytes of one message; the client is told close code 1009 where a frame has more, the handlers get the error of
  /// `NIOWebSocketFrameAggregator` where fragments do.
  public let messageBytesMax: Int
  /// Pieces of one message.
  public let fragmentsMax: Int
  /// Why this client gets no WebSocket; nil: it does.
  public let refusal: @Sendable (HTTPPeer) -> HTTPRefusal?
  public let open: Opening

  public init(
    path: String, subprotocol: String, messageBytesMax: Int, fragmentsMax: Int,
    refusal: @escaping @Sendable (HTTPPeer) -> HTTPRefusal? = { _ in nil }, open: @escaping Opening
  ) {
    self.path = path
    self.subprotocol = subprotocol
    self.messageBytesMax = messageBytesMax
    self.fragmentsMax = fragmentsMax
    self.refusal = refusal
    self.open = open
  }
}
