import NIOCore

/// The bounds of the port, each with its reason and the behaviour when it is reached. The sites bound bodies and
/// messages.
enum HTTPLimits {
  /// The maximum number of open connections per listener; at the bound it stops accepting until some are closed.
  static let connectionsMax = 65_536
  /// The time without a complete request after which a connection is closed.
  static let idle: TimeAmount = .seconds(60)
  /// The minimum rate of a body in bytes per second and its allowance: slower than any mobile network, so that 64 KiB
  /// of JSON have 46 s. A slower body is answered with 408 and the connection is closed; a resumable upload can
  /// continue.
  static let bodyBytesPerSecond: Int64 = 4_096
  static let bodyGrace: TimeAmount = .seconds(30)
  /// The minimum rate at which a client takes responses, in bytes per second, and its allowance: as for bodies, and a minute for a
  /// phone that loses its network. The connection of a slower client is closed; a download can continue with a range.
  static let responseBytesPerSecond: Int64 = 4_096
  static let responseGrace: TimeAmount = .seconds(60)
  /// The time between two looks at what waits for a client: short against the allowance, and no work for those that read.
  static let responseCheck: TimeAmount = .seconds(2)
  /// The time for a WebSocket's closing handshake when the port stops; then it is closed.
  static let farewell: TimeAmount = .seconds(1)
  /// The maximum size of the header fields of a request in bytes, and their number: enough for any proxy; 400 or 431
  /// beyond it.
  static let headerBytesMax = 16_384
  static let headersMax = 100
  /// The maximum number of keys per rate limiter; beyond it full buckets are removed, then all.
  static let bucketsMax = 100_000
}
