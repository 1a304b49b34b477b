import Basics
import Dialogs

/// The logins of the app, and the stored state of XMPP streams.
extension Reader {
  func grant(access hash: [UInt8]) throws -> Grant? {
    try connection(.grantByAccess).bind(1, hash).first(Self.grant)
  }

  /// Returns a grant by its refresh token, or the one before it: the caller sees which.
  func grant(refresh hash: [UInt8]) throws -> Grant? {
    try connection(.grantByRefresh).bind(1, hash).first(Self.grant)
      ?? connection(.grantByPrevious).bind(1, hash).first(Self.grant)
  }

  func grants(of user: UserID) throws -> [Grant] {
    try connection(.grants).bind(1, user.number).all(Self.grant)
  }

  private static func grant(_ row: Prepared) -> Grant {
    Grant(
      id: row.int(0), user: UserID(row.int(1)), device: row.text(2), access: row.bytes(3),
      accessExpires: Timestamp(milliseconds: row.int(4)), refresh: row.bytes(5), previousRefresh: row.bytesOrNil(6),
      createdAt: Timestamp(milliseconds: row.int(7)), usedAt: Timestamp(milliseconds: row.int(8)),
      client: row.textOrNil(9))
  }

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
  func put(_ grant: Grant) throws {
    try connection(.putGrant).bind(1, grant.id == 0 ? nil : grant.id).bind(2, grant.user.number)
      .bind(3, grant.device).bind(4, grant.access).bind(5, grant.accessExpires.milliseconds).bind(6, grant.refresh)
      .bind(7, grant.previousRefresh).bind(8, grant.createdAt.milliseconds).bind(9, grant.usedAt.milliseconds)
      .bind(10, grant.client).run()
  }

  func removeGrant(_ id: Int64, of user: UserID) throws {
    try connection(.deleteGrant).bind(1, id).bind(2, user.number).run()
    try removePushRegistrations(of: user, with: id)
  }

  func removeGrants(of user: UserID) throws {
    try connection(.deleteGrants).bind(1, user.number).run()
    try removePushRegistrations(of: user, with: nil)
  }

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
  private static let columns = """
    id, user, device, access, access_expires, refresh, previous_refresh, created, used, client
    """
  fileprivate static let grantByAccess = Query("SELECT \(columns) FROM grants WHERE access = ?1")
  fileprivate static let grantByRefresh = Query("SELECT \(columns) FROM grants WHERE refresh = ?1")
  fileprivate static let grantByPrevious = Query("SELECT \(columns) FROM grants WHERE previous_refresh = ?1")
  fileprivate static let grants = Query("SELECT \(columns) FROM grants WHERE user = ?1 ORDER BY id")
  fileprivate static let putGrant = Query(
    """
    INSERT INTO grants (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (id) DO UPDATE SET user = ?2, device = ?3, access = ?4, access_expires = ?5, refresh = ?6,
      previous_refresh = ?7, created = ?8, used = ?9, client = ?10
    """)
  fileprivate static let deleteGrant = Query("DELETE FROM grants WHERE id = ?1 AND user = ?2")
  static let deleteGrants = Query("DELETE FROM grants WHERE user = ?1")
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
