public import Foundation

/// An HTTP request of the protocol.
public struct HTTPRequest: Sendable {
  public var method: String
  public var url: URL
  public var headers: [(name: String, value: String)]
  public var body: Data?
}

/// A complete answer.
public struct HTTPResponse: Sendable {
  public var status: Int
  /// Names are lowercase.
  public var headers: [String: String]
  public var body: Data

  public init(status: Int, headers: [String: String], body: Data) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }
}

/// What the client needs of a network: requests and a WebSocket. ``SystemTransport`` is that of the platform; a test or an app with a
/// network of its own brings another one.
///
/// Every failure is thrown as an error of any kind: the client reports it as ``ParleyError`` with the code `network`, and what a
/// `LocalizedError` says of itself as its detail. Cancelling the task ends a request, and the opening of a WebSocket: a request that takes
/// too long is cancelled.
public protocol Transport: Sendable {
  /// Sends a request, and returns the answer, whatever its status. Redirections are not followed.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse
  /// Opens a WebSocket (RFC 6455) with a subprotocol.
  func open(_ url: URL, subprotocol: String) async throws -> any WebSocket
}

/// One open WebSocket. Only one task receives at a time.
public protocol WebSocket: Sendable {
  func send(_ text: String) async throws
  /// Returns the next text message; throws ``WebSocketClosed`` after the server's close frame, another error after a loss.
  func receive() async throws -> String
  /// Sends a close frame, if the connection is still there, and lets go of it. `receive` ends.
  func close(code: UInt16) async
}

/// The server has closed a WebSocket.
public struct WebSocketClosed: Error, Equatable {
  public var code: UInt16
  public var reason: String

  public init(code: UInt16, reason: String) {
    (self.code, self.reason) = (code, reason)
  }
}

#if canImport(Darwin)
  /// The transport of this platform: URLSession.
  public typealias SystemTransport = URLSessionTransport
#else
  /// The transport of this platform: SwiftNIO.
  public typealias SystemTransport = NIOTransport
#endif
