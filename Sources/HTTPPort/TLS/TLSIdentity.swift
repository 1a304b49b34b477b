public import NIOSSL

/// One certificate with its TLS context.
public struct TLSIdentity: Sendable {
  public let context: NIOSSLContext
  /// The `tls-server-end-point` value of this certificate (RFC 5929 4); `nil` if undefined.
  public let endPoint: [UInt8]?

  public init(context: NIOSSLContext, endPoint: [UInt8]?) {
    self.context = context
    self.endPoint = endPoint
  }
}

/// Returns the current identity for the host that a client names, if any (RFC 6066 3); `nil` if there is none. It is
/// called for each new connection, so that a renewed certificate needs no restart.
public typealias TLSProvider = @Sendable (_ host: String?) -> TLSIdentity?
