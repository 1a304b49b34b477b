import HTTPTypes
public import Hummingbird
import NIOCore
import NIOHTTP1

/// What Hummingbird knows of a request, and who is at the other end.
public struct HTTPContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  private let remoteAddress: SocketAddress?
  var isSecure = false

  public init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    remoteAddress = source.channel.remoteAddress
  }

  public func peer(of request: Request) -> HTTPPeer {
    HTTPPeer(
      remoteAddress, isSecure: isSecure, forwardedFor: request.headers[.forwardedFor],
      forwardedProtocol: request.headers[.forwardedProtocol])
  }
}

/// Who is at the other end of a connection.
public struct HTTPPeer: Sendable, Equatable {
  /// Whom per-address limits count against.
  public let address: String
  /// TLS ends at this port.
  public let isSecure: Bool
  /// What is said crosses no network in the clear, as far as this machine can tell: TLS ends here, or the other end is a
  /// program of this machine, such as a proxy, that does not tell of plain HTTP (`X-Forwarded-Proto`).
  public let isPrivate: Bool

  init(_ remote: SocketAddress?, isSecure: Bool, forwardedFor: String?, forwardedProtocol: String?) {
    address = ClientAddress.of(forwarded: forwardedFor, remote)
    self.isSecure = isSecure
    let isPlain = forwardedProtocol.map { ["http", "ws"].contains($0.lowercased()) } ?? false
    isPrivate = isSecure || ClientAddress.isLocal(remote) && !isPlain
  }

  init(_ head: HTTPRequestHead, _ remote: SocketAddress?, isSecure: Bool) {
    self.init(
      remote, isSecure: isSecure, forwardedFor: head.headers["x-forwarded-for"].last,
      forwardedProtocol: head.headers["x-forwarded-proto"].last)
  }
}

extension HTTPField.Name {
  // Constant names, made of token characters only.
  static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
  static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")!
}
