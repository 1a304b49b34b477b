import Addresses
import Dialogs

/// Push registrations, and what is owed to them.
extension Reader {
  func pushRegistrations() throws -> [PushRegistration] {
    try connection(.allPushRegistrations).all(Self.pushRegistration)
  }

  func pushRegistrations(of user: UserID) throws -> [PushRegistration] {
    try connection(.pushRegistrations).bind(1, user.number).all(Self.pushRegistration)
  }

  func usersOwedPushes() throws -> [UserID] { try connection(.usersOwedPushes).all { UserID($0.int(0)) } }

  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush] {
    try connection(.pushesOwed).bind(1, user.number).bind(2, bound(limit)).all {
      OwedPush(position: Position($0.int(0)), dialog: DialogID($0.int(1)))
    }
  }

  private static func pushRegistration(_ row: Prepared) throws -> PushRegistration {
    guard let service = JID(parsing: row.text(1)) else {
      throw StoreFailure.corrupt("the address of a push service cannot be read")
    }
    return PushRegistration(
      user: UserID(row.int(0)), service: service, node: row.text(2), options: row.bytesOrNil(3), resource: row.text(4),
      pushed: Position(row.int(5)), failures: Int(row.int(6)), enabled: Position(row.int(7)))
  }
}

extension Writer {
  func put(_ registration: PushRegistration) throws {
    try connection(.putPushRegistration).bind(1, registration.user.number).bind(2, registration.service.description)
      .bind(3, registration.node).bind(4, registration.options).bind(5, registration.resource)
      .bind(6, registration.pushed.number).bind(7, Int64(registration.failures))
      .bind(8, registration.enabled.number).run()
  }

  func removePushRegistration(_ registration: PushRegistration) throws {
    try connection(.removePushRegistration).bind(1, registration.user.number)
      .bind(2, registration.service.description).bind(3, registration.node).run()
  }

  func owePush(_ push: OwedPush, to user: UserID) throws {
    try connection(.owePush).bind(1, user.number).bind(2, push.position.number).bind(3, push.dialog.number).run()
  }

  func removePushesOwed(to user: UserID, through position: Position) throws {
    try connection(.removePushesOwed).bind(1, user.number).bind(2, position.number).run()
  }
}

extension Query {
  private static let columns = "user, service, node, options, resource, pushed, failures, enabled"
  fileprivate static let allPushRegistrations = Query("SELECT \(columns) FROM push_registrations")
  fileprivate static let pushRegistrations = Query("SELECT \(columns) FROM push_registrations WHERE user = ?1")
  fileprivate static let putPushRegistration = Query(
    "INSERT OR REPLACE INTO push_registrations (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
  fileprivate static let removePushRegistration = Query(
    "DELETE FROM push_registrations WHERE user = ?1 AND service = ?2 AND node = ?3")
  static let deletePushRegistrations = Query("DELETE FROM push_registrations WHERE user = ?1")
  fileprivate static let usersOwedPushes = Query("SELECT DISTINCT user FROM pushes_owed")
  fileprivate static let pushesOwed = Query(
    """
    SELECT position, dialog FROM (
      SELECT position, dialog FROM pushes_owed WHERE user = ?1 ORDER BY position DESC LIMIT ?2
    ) ORDER BY position
    """)
  fileprivate static let owePush = Query(
    "INSERT OR IGNORE INTO pushes_owed (user, position, dialog) VALUES (?1, ?2, ?3)")
  fileprivate static let removePushesOwed = Query("DELETE FROM pushes_owed WHERE user = ?1 AND position <= ?2")
  static let deletePushesOwed = Query("DELETE FROM pushes_owed WHERE user = ?1")
}
