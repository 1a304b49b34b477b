import Basics
import Dialogs

/// The stored state of XMPP streams.
extension Reader {
  func handled(_ stream: StreamNonce) throws -> UInt32? {
    try connection(.handled, stream.high, stream.low).first {
      UInt32(truncatingIfNeeded: $0.int(0))
    }
  }

  func suspended() throws -> [SuspendedSession] {
    try connection(.suspended).all { row in
      SuspendedSession(
        user: UserID(row.int(0)),
        stream: StreamNonce(high: UInt64(bitPattern: row.int(1)), low: UInt64(bitPattern: row.int(2))),
        expires: Timestamp(milliseconds: row.int(3)), state: row.bytes(4))
    }
  }
}

extension Writer {
  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws {
    try connection(.setHandled, stream.high, stream.low, number, time).run()
  }

  func removeStreams(before time: Timestamp) throws {
    try connection(.deleteStreams, time).run()
  }

  func setSuspended(_ sessions: [SuspendedSession]) throws {
    try connection(.deleteAllSuspended).run()
    for session in sessions {
      try connection(
        .insertSuspended, session.user, session.stream.high, session.stream.low, session.expires, session.state
      ).run()
    }
  }
}

extension Query {
  fileprivate static let handled = Query("SELECT number FROM streams WHERE high = ?1 AND low = ?2")
  fileprivate static let setHandled = Query(
    """
    INSERT INTO streams (high, low, number, time) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (high, low) DO UPDATE SET number = ?3, time = ?4
    """)
  fileprivate static let deleteStreams = Query("DELETE FROM streams WHERE time < ?1")
  fileprivate static let suspended = Query("SELECT user, high, low, expires, state FROM suspended ORDER BY id")
  fileprivate static let deleteAllSuspended = Query("DELETE FROM suspended")
  fileprivate static let insertSuspended = Query(
    "INSERT INTO suspended (user, high, low, expires, state) VALUES (?1, ?2, ?3, ?4, ?5)")
}
