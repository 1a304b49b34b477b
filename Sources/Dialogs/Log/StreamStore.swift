public import Basics

/// Reads the state of streams that may be resumed.
public protocol StreamReader {
  /// Returns the highest inbound number committed for this stream; `nil` for an unknown stream.
  func handled(_ stream: StreamNonce) throws -> UInt32?
  func suspended() throws -> [SuspendedSession]
}

/// Changes the state of streams that may be resumed.
public protocol StreamWriter {
  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws
  func removeStreams(before time: Timestamp) throws
  func setSuspended(_ sessions: [SuspendedSession]) throws
}

/// A resumable session across a graceful restart, with opaque bytes of the door.
public struct SuspendedSession: Hashable, Sendable {
  public var user: UserID
  public var stream: StreamNonce
  public var expires: Timestamp
  public var state: [UInt8]
  public init(user: UserID, stream: StreamNonce, expires: Timestamp, state: [UInt8]) {
    self.user = user
    self.stream = stream
    self.expires = expires
    self.state = state
  }
}
