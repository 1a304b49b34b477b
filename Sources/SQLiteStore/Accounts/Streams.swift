import Basics
import Dialogs

/// The stored state of XMPP streams.
extension Reader {
  func handled(_ stream: StreamNonce) throws -> UInt32? {
    try connection(.handled).bind(1, Int64(bitPattern: stream.high)).bind(2, Int64(bitPattern: stream.low)).first {
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
    try connection(.setHandled).bind(1, Int64(bitPattern: stream.high)).bind(2, Int64(bitPattern: stream.low))
      .bind(3, Int64(number)).bind(4, time.milliseconds).run()
  }

  func removeStreams(before time: Timestamp) throws {
    try connection(.deleteStreams).bind(1, time.milliseconds).run()
  }

  func setSuspended(_ sessions: [SuspendedSession]) throws {
    try connection(.deleteAllSuspended).run()
    for session in sessions {
      try connection(.insertSuspended).bind(1, session.user.number)
        .bind(2, Int64(bitPattern: session.stream.high)).bind(3, Int64(bitPattern: session.stream.low))
        .bind(4, session.expires.milliseconds).bind(5, session.state).run()
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
