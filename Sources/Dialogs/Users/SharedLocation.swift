public import Basics

/// The location that a user shares with nearby users, and the time until which.
public struct SharedLocation: Hashable, Sendable {
  public let user: UserID
  public let cell: GridCell
  public let expires: Timestamp
  public init(user: UserID, cell: GridCell, expires: Timestamp) {
    self.user = user
    self.cell = cell
    self.expires = expires
  }
}

/// A location in its realm.
struct RealmLocation {
  let realm: RealmID
  let location: SharedLocation
}

extension RealmLocation: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, realm, row, column, expires
  }
  static let kind = "locations"
  static let key: [Field] = [.user]
  var fields: [FieldValue] {
    [
      location.user.field, realm.field, location.cell.row.field, location.cell.column.field, location.expires.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    let user: UserID = try fields.next()
    realm = try fields.next()
    location = try SharedLocation(
      user: user, cell: GridCell(row: fields.next(), column: fields.next()), expires: fields.next())
  }
}

extension RecordReader {
  /// Returns the user's location, also an expired one.
  public func location(of user: UserID) throws -> SharedLocation? {
    try record(RealmLocation.self, .equal(.user, user))?.location
  }

  /// Returns the locations in these cells of one row that expire after `time`, by column.
  public func locations(
    in realm: RealmID, row: Int, columns: ClosedRange<Int>, after time: Timestamp, limit: Int
  ) throws -> [SharedLocation] {
    try records(
      RealmLocation.self, .equal(.realm, realm), .equal(.row, row), .atLeast(.column, columns.lowerBound),
      .atMost(.column, columns.upperBound), .above(.expires, time), by: .column, limit: limit
    ).map(\.location)
  }
}

extension RecordWriter {
  /// Inserts or replaces a location.
  public func put(_ location: SharedLocation, in realm: RealmID) throws {
    try put(RealmLocation(realm: realm, location: location))
  }

  public func removeLocation(of user: UserID) throws { try remove(RealmLocation.self, .equal(.user, user)) }

  public func removeLocations(before time: Timestamp) throws { try remove(RealmLocation.self, .atMost(.expires, time)) }
}
