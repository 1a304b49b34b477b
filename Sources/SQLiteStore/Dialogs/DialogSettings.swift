import Basics
import Dialogs

/// The users' settings of their dialogs and rooms: a column of their row.
extension Reader {
  func settings(of user: UserID, in dialog: DialogID) throws -> DialogSettings? {
    try connection(.settings, user, dialog).first { try Self.settings($0, 0) }
  }

  func settings(of user: UserID) throws -> [DialogID: DialogSettings] {
    let found = try connection(.allSettings, user).all {
      (DialogID($0.int(0)), try Self.settings($0, 1))
    }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  static func settings(_ row: Prepared, _ column: Int32) throws(StoreFailure) -> DialogSettings {
    guard let bytes = row.bytesOrNil(column) else { return DialogSettings() }
    return try FactCoding.decode(dialogSettings: bytes)
  }
}

extension Writer {
  func put(_ settings: DialogSettings, of user: UserID, in dialog: DialogID) throws {
    try connection(
      .putSettings, user, dialog, settings == DialogSettings() ? nil : FactCoding.encode(dialogSettings: settings),
      settings.retentionDays.map { Int64($0) }
    ).run()
  }
}

extension FactCoding {
  static func encode(dialogSettings settings: DialogSettings) -> [UInt8] {
    var out = ByteWriter()
    out.write(version)
    write(settings, &out)
    out.write(settings.retentionDays) { $0.write(Int64($1)) }
    return out.bytes
  }

  static func decode(dialogSettings bytes: [UInt8]) throws(StoreFailure) -> DialogSettings {
    var from = ByteReader(bytes)
    guard try from.int() == version else { throw damaged }
    var settings = try settings(&from)
    settings.retentionDays = try days(&from)
    return settings
  }

  private static func write(_ settings: DialogSettings, _ out: inout ByteWriter) {
    out.write(settings.alerts) { $0.write(Int64($1.rawValue)) }
    out.write(settings.mutedUntil) { $0.write($1.milliseconds) }
    out.write(settings.isPinned)
    out.write(settings.isArchived)
    out.write(settings.unreadAt) { $0.write($1.number) }
    out.write(settings.position.number)
  }

  /// Reads the days, which follow the other settings; rows of earlier versions have none.
  private static func days(_ from: inout ByteReader) throws(StoreFailure) -> Int? {
    if from.isAtEnd { return nil }
    return try from.optional { from throws(StoreFailure) in Int(clamping: try from.int()) }
  }

  private static func settings(_ from: inout ByteReader) throws(StoreFailure) -> DialogSettings {
    var settings = DialogSettings()
    settings.alerts = try from.optional { from throws(StoreFailure) in try alerts(try from.int()) }
    settings.mutedUntil = try from.optional { from throws(StoreFailure) in Timestamp(milliseconds: try from.int()) }
    settings.isPinned = try from.flag()
    settings.isArchived = try from.flag()
    settings.unreadAt = try from.optional { from throws(StoreFailure) in Position(try from.int()) }
    settings.position = Position(try from.int())
    return settings
  }

  static func alerts(_ number: Int64) throws(StoreFailure) -> Alerts {
    guard let alerts = Alerts(rawValue: UInt8(clamping: number)) else { throw damaged }
    return alerts
  }

  static func write(_ change: DialogSettingsChange, _ out: inout ByteWriter) {
    out.write(change.dialog.number)
    write(change.settings, &out)
    out.write(change.isMarkedUnread)
    out.write(change.settings.retentionDays) { $0.write(Int64($1)) }
  }

  static func settingsChange(_ from: inout ByteReader) throws(StoreFailure) -> DialogSettingsChange {
    let dialog = DialogID(try from.int())
    var settings = try settings(&from)
    let isMarkedUnread = try from.flag()
    settings.retentionDays = try days(&from)
    return DialogSettingsChange(dialog: dialog, settings: settings, isMarkedUnread: isMarkedUnread)
  }
}

extension Query {
  fileprivate static let settings = Query("SELECT settings FROM members WHERE user = ?1 AND dialog = ?2")
  fileprivate static let allSettings = Query(
    "SELECT dialog, settings FROM members WHERE user = ?1 AND settings IS NOT NULL")
  fileprivate static let putSettings = Query(
    "UPDATE members SET settings = ?3, retention_days = ?4 WHERE user = ?1 AND dialog = ?2")
}
