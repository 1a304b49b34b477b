public import Basics

/// Reads the state of streams that may be resumed.
public protocol StreamReader {
  /// Returns the highest inbound number committed for this stream; `nil` for an unknown stream.
  func handled(_ stream: StreamNonce) throws -> UInt32?
  /// Returns the suspended sessions without their stanzas, in the order in which they were stored. Sessions with a state of
  /// more than `bytesMax` are omitted, and so are the largest, if all states have more than `inAll` bytes.
  func suspended(bytesMax: Int, inAll: Int) throws -> [SuspendedSession]
  /// Returns the stanzas of a suspended session, in the parts in which they were stored.
  func stanzas(of stream: StreamNonce) throws -> [[UInt8]]
}

/// Changes the state of streams that may be resumed.
public protocol StreamWriter {
  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws
  /// Removes the streams of one of 256 slices, by the highest byte of their nonces, whose number was set before `time`.
  func removeStreams(before time: Timestamp, slice: UInt8) throws
  /// Replaces the suspended sessions. The stanzas of a session are stored as a further part of its stream's, and all parts
  /// expire with the last one.
  func setSuspended(_ sessions: [SuspendedSession]) throws
  /// Removes all suspended sessions, but not their stanzas.
  func forgetSuspended() throws
  /// Removes a suspended session with its stanzas.
  func removeSuspended(_ stream: StreamNonce) throws
  /// Removes up to `limit` parts of stanzas that expired before `time`. Returns how many it removed.
  func removeStanzas(expiredBefore time: Timestamp, limit: Int) throws -> Int
}

/// A resumable session across a graceful restart, with opaque bytes of the door. The state is read at the start, the
/// stanzas only when the session is resumed.
public struct SuspendedSession: Hashable, Sendable {
  public var user: UserID
  public var stream: StreamNonce
  /// The time before which the next process must start to restore the session.
  public var expires: Timestamp
  public var state: [UInt8]
  public var stanzas: [UInt8]
  /// The time after which no process needs the stanzas. It is later than `expires`, since a restored session waits again.
  public var stanzasExpire: Timestamp
  public init(
    user: UserID, stream: StreamNonce, expires: Timestamp, state: [UInt8], stanzas: [UInt8] = [],
    stanzasExpire: Timestamp? = nil
  ) {
    self.user = user
    self.stream = stream
    self.expires = expires
    self.state = state
    self.stanzas = stanzas
    self.stanzasExpire = stanzasExpire ?? expires
  }
}
