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

public protocol LocationReader {
  /// Returns the user's location, also an expired one.
  func location(of user: UserID) throws -> SharedLocation?
  /// Returns the locations in these cells of one row that expire after `time`.
  func locations(
    in realm: RealmID, row: Int, columns: ClosedRange<Int>, after time: Timestamp, limit: Int
  ) throws -> [SharedLocation]
}

public protocol LocationWriter {
  /// Inserts or replaces a location.
  func put(_ location: SharedLocation, in realm: RealmID) throws
  func removeLocation(of user: UserID) throws
  func removeLocations(before time: Timestamp) throws
}
