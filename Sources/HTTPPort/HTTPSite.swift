public import HTTPTypes
public import Hummingbird
public import NIOCore

/// The routes and WebSockets of a door on the HTTP port. Each path of the port belongs to one site.
public struct HTTPSite: Sendable {
  public var routes: [HTTPRoute]
  public var sockets: [HTTPSocket]
  /// Answers GET of a path that no site has; returns `nil` for an unknown path, and may throw an `HTTPRefusal`.
  public var otherwise: (@Sendable (Request, HTTPContext) async throws -> Response?)?
  /// Called when the port stops: pending requests must be answered at once. WebSockets get
  /// `ChannelShouldQuiesceEvent`.
  public var stop: @Sendable () -> Void

  public init(
    routes: [HTTPRoute] = [], sockets: [HTTPSocket] = [],
    otherwise: (@Sendable (Request, HTTPContext) async throws -> Response?)? = nil,
    stop: @escaping @Sendable () -> Void = {}
  ) {
    self.routes = routes
    self.sockets = sockets
    self.otherwise = otherwise
    self.stop = stop
  }
}

/// The handler of one method of one path.
public struct HTTPRoute: Sendable {
  /// Answers a request; may throw an `HTTPRefusal`. The body is a stream that the handler may read.
  public typealias Handler = @Sendable (Request, HTTPContext) async throws -> Response

  public let method: HTTPRequest.Method
  /// The path, as in `/v1/users/{userId}`; `**` at the end matches any further parts. GET implies HEAD (RFC 9110 9.1);
  /// other methods of the path are answered with 405.
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
  /// Adds the handlers that read and write `WebSocketFrame`, on the channel's loop. Fragmented messages arrive joined. The last
  /// argument must be called on the same loop with the user's address when the client has logged in: until then the connection may
  /// give way to others. It returns `false` if the client's network has as many connections of logged-in users as it may have: the
  /// client is then refused (`LoggedInConnections.problem`). A message that is not complete can end the socket at any time, with a
  /// `LostMessage`.
  public typealias Opening =
    @Sendable (any Channel, HTTPPeer, @escaping @Sendable (_ user: String) -> Bool) throws -> Void

  public let path: String
  public let subprotocol: String
  /// The maximum length of a message in bytes. A longer frame is answered with close code 1009; for fragments the
  /// handlers get the error of `NIOWebSocketFrameAggregator`.
  public let messageBytesMax: Int
  /// The maximum length of a message in bytes before the login, including fragmented ones.
  public let bytesMaxBeforeLogin: Int
  /// The maximum number of fragments of a message.
  public let fragmentsMax: Int
  /// Returns the reason why a client is refused a WebSocket; nil to accept it.
  public let refusal: @Sendable (HTTPPeer) -> HTTPRefusal?
  public let open: Opening

  public init(
    path: String, subprotocol: String, messageBytesMax: Int, bytesMaxBeforeLogin: Int? = nil, fragmentsMax: Int,
    refusal: @escaping @Sendable (HTTPPeer) -> HTTPRefusal? = { _ in nil }, open: @escaping Opening
  ) {
    self.path = path
    self.subprotocol = subprotocol
    self.messageBytesMax = messageBytesMax
    self.bytesMaxBeforeLogin = bytesMaxBeforeLogin ?? messageBytesMax
    self.fragmentsMax = fragmentsMax
    self.refusal = refusal
    self.open = open
  }
}
