import NIOCore

/// Every bound of the port: its number, why, and what happens at it. Bodies and messages are bounded by the sites.
enum HTTPLimits {
  /// Open connections of one listener; at the bound it stops accepting until some close.
  static let connectionsMax = 65_536
  /// A connection that sends no complete request for so long is closed.
  static let idle: TimeAmount = .seconds(60)
  /// How slowly a body may come, and how long it may be behind that: slower than any telephone's network, so that 64 KiB of
  /// JSON are over in 46 s. At the bound 408 and the end of the connection; an upload in parts goes on from there.
  static let bodyBytesPerSecond: Int64 = 4_096
  static let bodyGrace: TimeAmount = .seconds(30)
  /// How long a WebSocket has to say good-bye when the port stops; then it is closed.
  static let farewell: TimeAmount = .seconds(1)
  /// Header fields of one request: enough for any proxy; at the bound 400 or 431.
  static let headerBytesMax = 16_384
  static let headersMax = 100
}
