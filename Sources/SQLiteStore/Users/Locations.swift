import Basics
import Dialogs

/// The shared locations of users.
extension Reader {
  func location(of user: UserID) throws -> SharedLocation? {
    try connection(.location).bind(1, user.number).first(Self.location)
  }

  func locations(
    in realm: RealmID, row: Int, columns: ClosedRange<Int>, after time: Timestamp, limit: Int
  ) throws -> [SharedLocation] {
    try connection(.locations).bind(1, realm.number).bind(2, Int64(row)).bind(3, Int64(columns.lowerBound))
      .bind(4, Int64(columns.upperBound)).bind(5, time.milliseconds).bind(6, bound(limit)).all(Self.location)
  }

  private static func location(_ row: Prepared) -> SharedLocation {
    SharedLocation(
      user: UserID(row.int(0)), cell: GridCell(row: Int(row.int(1)), column: Int(row.int(2))),
      expires: Timestamp(milliseconds: row.int(3)))
  }
}

extension Writer {
  func put(_ location: SharedLocation, in realm: RealmID) throws {
    try connection(.putLocation).bind(1, location.user.number).bind(2, realm.number)
      .bind(3, Int64(location.cell.row)).bind(4, Int64(location.cell.column))
      .bind(5, location.expires.milliseconds).run()
  }

  func removeLocation(of user: UserID) throws { try connection(.deleteLocation).bind(1, user.number).run() }

  func removeLocations(before time: Timestamp) throws {
    try connection(.deleteLocations).bind(1, time.milliseconds).run()
  }
}

extension Query {
  static let deleteLocation = Query("DELETE FROM locations WHERE user = ?1")
  fileprivate static let deleteLocations = Query("DELETE FROM locations WHERE expires <= ?1")
  fileprivate static let putLocation = Query(
    "INSERT OR REPLACE INTO locations (user, realm, row, column, expires) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let location = Query("SELECT user, row, column, expires FROM locations WHERE user = ?1")
  fileprivate static let locations = Query(
    """
    SELECT user, row, column, expires FROM locations
    WHERE realm = ?1 AND row = ?2 AND column BETWEEN ?3 AND ?4 AND expires > ?5 ORDER BY column LIMIT ?6
    """)
}
