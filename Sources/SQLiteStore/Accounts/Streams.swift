import Basics
import Dialogs

/// The stored state of XMPP streams.
extension Reader {
  func handled(_ stream: StreamNonce) throws -> UInt32? {
    try connection(.handled, stream.high, stream.low).first {
      UInt32(truncatingIfNeeded: $0.int(0))
    }
  }

  func suspended(bytesMax: Int, inAll: Int) throws -> [SuspendedSession] {
    try connection(.suspended, Int64(bytesMax), Int64(inAll)).all { row in
      SuspendedSession(
        user: UserID(row.int(0)),
        stream: StreamNonce(high: UInt64(bitPattern: row.int(1)), low: UInt64(bitPattern: row.int(2))),
        expires: Timestamp(milliseconds: row.int(3)), state: row.bytes(4))
    }
  }

  func stanzas(of stream: StreamNonce) throws -> [[UInt8]] {
    try connection(.stanzas, stream.high, stream.low).all { $0.bytes(0) }
  }
}

extension Writer {
  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws {
    try connection(.setHandled, stream.high, stream.low, number, time).run()
  }

  func removeStreams(before time: Timestamp, slice: UInt8) throws {
    let first = UInt64(slice) << 56
    try connection(.deleteStreams, time, first, first | (UInt64.max >> 8)).run()
  }

  func setSuspended(_ sessions: [SuspendedSession]) throws {
    try connection(.deleteAllSuspended).run()
    for session in sessions {
      try connection(
        .insertSuspended, session.user, session.stream.high, session.stream.low, session.expires, session.state
      ).run()
    }
    for session in sessions {
      let (high, low, expires) = (session.stream.high, session.stream.low, session.stanzasExpire)
      try connection(.setStanzasExpire, high, low, expires).run()
      if session.stanzas.isEmpty { continue }
      try connection(.insertStanzas, session.user, high, low, expires, session.stanzas).run()
    }
  }

  func forgetSuspended() throws { try connection(.deleteAllSuspended).run() }

  func removeSuspended(_ stream: StreamNonce) throws {
    try connection(.deleteSuspended, stream.high, stream.low).run()
    try connection(.deleteStanzas, stream.high, stream.low).run()
  }

  func removeStanzas(expiredBefore time: Timestamp, limit: Int) throws -> Int {
    let statement = try connection(.deleteExpiredStanzas, time, Int64(limit))
    try statement.run()
    return Int(statement.changes)
  }
}

extension Query {
  fileprivate static let handled = Query("SELECT number FROM streams WHERE high = ?1 AND low = ?2")
  fileprivate static let setHandled = Query(
    """
    INSERT INTO streams (high, low, number, time) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (high, low) DO UPDATE SET number = ?3, time = ?4
    """)
  fileprivate static let deleteStreams = Query("DELETE FROM streams WHERE high BETWEEN ?2 AND ?3 AND time < ?1")
  /// The engine reads the length of a value without the value.
  fileprivate static let suspended = Query(
    """
    SELECT user, high, low, expires, state FROM suspended WHERE id IN (
      SELECT s.id FROM (
        SELECT id, sum(length(state)) OVER (ORDER BY length(state), id) AS bytes FROM suspended
        WHERE length(state) <= ?1
      ) s WHERE s.bytes <= ?2)
    ORDER BY id
    """)
  fileprivate static let stanzas = Query(
    "SELECT stanzas FROM suspended_stanzas WHERE high = ?1 AND low = ?2 ORDER BY id")
  fileprivate static let deleteAllSuspended = Query("DELETE FROM suspended")
  fileprivate static let deleteSuspended = Query("DELETE FROM suspended WHERE high = ?1 AND low = ?2")
  fileprivate static let deleteStanzas = Query("DELETE FROM suspended_stanzas WHERE high = ?1 AND low = ?2")
  fileprivate static let deleteExpiredStanzas = Query(
    """
    DELETE FROM suspended_stanzas WHERE id IN (
      SELECT id FROM suspended_stanzas WHERE expires < ?1 ORDER BY expires LIMIT ?2)
    """)
  fileprivate static let setStanzasExpire = Query(
    "UPDATE suspended_stanzas SET expires = ?3 WHERE high = ?1 AND low = ?2")
  fileprivate static let insertStanzas = Query(
    "INSERT INTO suspended_stanzas (user, high, low, expires, stanzas) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let insertSuspended = Query(
    "INSERT INTO suspended (user, high, low, expires, state) VALUES (?1, ?2, ?3, ?4, ?5)")
}
