import Addresses
import Basics
import Dialogs

/// The push registrations, and their pending pushes.
extension Reader {
  func pushRegistrations() throws -> [PushRegistration] {
    try connection(.allPushRegistrations).all(Self.pushRegistration)
  }

  func pushRegistrations(of user: UserID) throws -> [PushRegistration] {
    try connection(.pushRegistrations, user).all(Self.pushRegistration)
  }

  func usersOwedPushes() throws -> [(user: UserID, since: Timestamp?)] {
    try connection(.usersOwedPushes).all { row in
      (UserID(row.int(0)), row.intOrNil(1).map { Timestamp(milliseconds: $0) })
    }
  }

  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush] {
    try connection(.pushesOwed, user, bound(limit)).all {
      OwedPush(
        position: Position($0.int(0)), dialog: DialogID($0.int(1)),
        kind: OwedPush.Kind(rawValue: UInt8(truncatingIfNeeded: $0.int(2))) ?? .alert, subject: Position($0.int(3)))
    }
  }

  /// Reads a registration. A device is stored in the column of a service's publish options, with its id as the node and
  /// without a service.
  private static func pushRegistration(_ row: Prepared) throws -> PushRegistration {
    let target: PushTarget
    if row.text(1).isEmpty {
      var reader = ByteReader(row.bytes(3))
      target = .device(try reader.device(id: row.text(2)))
    } else {
      guard let service = JID(stored: row.text(1)) else {
        throw StoreFailure.corrupt("the address of a push service cannot be read")
      }
      target = .service(service, node: row.text(2), options: row.bytesOrNil(3))
    }
    return PushRegistration(
      user: UserID(row.int(0)), target: target, resource: row.text(4), grant: row.intOrNil(8),
      pushed: Position(row.int(5)), failures: Int(row.int(6)), enabled: Position(row.int(7)))
  }
}

extension PushTarget.Name {
  fileprivate var columns: (service: String, node: String) {
    switch self {
    case .service(let service, let node): (service.description, node)
    case .device(let id): ("", id)
    }
  }
}

extension ByteWriter {
  fileprivate mutating func write(_ device: PushDevice) {
    write(device.provider.rawValue)
    write(device.kind.rawValue)
    write(device.environment.rawValue)
    write(device.token)
    write(device.hearsSilently)
    write(device.registeredAt.milliseconds)
    for text in [device.appID, device.platform, device.locale] { write(text) { $0.write($1) } }
    write(device.keys) {
      $0.write($1.agreement)
      $0.write($1.secret)
    }
  }
}

extension ByteReader {
  fileprivate mutating func device(id: String) throws(StoreFailure) -> PushDevice {
    guard let provider = PushDevice.Provider(rawValue: try text()), let kind = PushDevice.Kind(rawValue: try text()),
      let environment = PushDevice.Environment(rawValue: try text())
    else { throw .corrupt("what is known of a device cannot be read") }
    var device = PushDevice(
      id: id, provider: provider, kind: kind, environment: environment, token: try text(), hearsSilently: try flag(),
      registeredAt: Timestamp(milliseconds: try int()))
    device.appID = try optional { (from: inout ByteReader) throws(StoreFailure) in try from.text() }
    device.platform = try optional { (from: inout ByteReader) throws(StoreFailure) in try from.text() }
    device.locale = try optional { (from: inout ByteReader) throws(StoreFailure) in try from.text() }
    device.keys = try optional { (from: inout ByteReader) throws(StoreFailure) in
      PushDevice.Keys(agreement: try from.array(), secret: try from.array())
    }
    return device
  }
}

extension Writer {
  func put(_ registration: PushRegistration) throws {
    let options: [UInt8]?
    switch registration.target {
    case .service(_, _, let given): options = given
    case .device(let device):
      var writer = ByteWriter()
      writer.write(device)
      options = writer.bytes
    }
    let name = registration.name.columns
    try connection(
      .putPushRegistration, registration.user, name.service, name.node, options, registration.resource,
      registration.pushed
    ).bind(registration.failures, registration.enabled, registration.grant).run()
  }

  func removePushRegistration(_ registration: PushRegistration) throws {
    let name = registration.name.columns
    try connection(.removePushRegistration, registration.user, name.service, name.node)
      .run()
  }

  /// Removes the registrations that end with a login; with any login if it is `nil`.
  func removePushRegistrations(of user: UserID, with grant: Int64?) throws {
    try connection(.removePushRegistrationsOfLogin, user, grant).run()
  }

  func owePush(_ push: OwedPush, to user: UserID) throws {
    try connection(.owePush, user, push.position, push.dialog, push.kind.rawValue, push.subject).run()
  }

  func removePushesOwed(to user: UserID, through position: Position) throws {
    try connection(.removePushesOwed, user, position).run()
  }
}

extension Query {
  private static let columns = "user, service, node, options, resource, pushed, failures, enabled, login"
  fileprivate static let allPushRegistrations = Query("SELECT \(columns) FROM push_registrations")
  fileprivate static let pushRegistrations = Query("SELECT \(columns) FROM push_registrations WHERE user = ?1")
  fileprivate static let putPushRegistration = Query(
    "INSERT OR REPLACE INTO push_registrations (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
  fileprivate static let removePushRegistration = Query(
    "DELETE FROM push_registrations WHERE user = ?1 AND service = ?2 AND node = ?3")
  fileprivate static let removePushRegistrationsOfLogin = Query(
    "DELETE FROM push_registrations WHERE user = ?1 AND login IS NOT NULL AND login = ifnull(?2, login)")
  fileprivate static let usersOwedPushes = Query(
    """
    SELECT user, (SELECT time FROM payloads WHERE position = oldest)
      FROM (SELECT user, min(position) AS oldest FROM pushes_owed GROUP BY user)
    """)
  fileprivate static let pushesOwed = Query(
    """
    SELECT position, dialog, kind, subject FROM (
      SELECT position, dialog, kind, subject FROM pushes_owed WHERE user = ?1 ORDER BY position DESC LIMIT ?2
    ) ORDER BY position
    """)
  fileprivate static let owePush = Query(
    "INSERT OR IGNORE INTO pushes_owed (user, position, dialog, kind, subject) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let removePushesOwed = Query("DELETE FROM pushes_owed WHERE user = ?1 AND position <= ?2")
}
