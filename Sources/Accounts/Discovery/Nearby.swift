import Basics
public import Dialogs

/// Nearby users: users who share their location find others who do so too. Only a cell of the grid is stored, for a
/// limited time.
extension Accounts {
  /// Shares the user's location, replacing the previous one.
  ///
  /// - Parameter lifetime: the time until it expires, from `AccountLimits.locationLifetimeMin` to
  ///   `locationLifetimeMax`.
  /// - Throws: `.malformed`; `.tooFast` above `AccountLimits.locationRate`; `.forbidden` for guests.
  public func share(
    latitude: Double, longitude: Double, for lifetime: Duration, by user: Party
  ) async throws(Problem) -> SharedLocation {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    guard let cell = Grid.cell(latitude: latitude, longitude: longitude) else { throw Problem.coordinateMalformed }
    guard (AccountLimits.locationLifetimeMin...AccountLimits.locationLifetimeMax).contains(lifetime) else {
      throw Problem(
        .malformed, "ttl-out-of-range",
        "ttl is from \(AccountLimits.locationLifetimeMin.components.seconds) to "
          + "\(AccountLimits.locationLifetimeMax.components.seconds) seconds.", field: "ttl")
    }
    // Without this bound a user could look everywhere by moving fast.
    try pace(.location(user.id))
    let now = parley.clock.now
    let location = SharedLocation(user: user.id, cell: cell, expires: now + lifetime)
    try await parley.work(keepingCaches: true) { writer in
      try writer.removeLocations(before: now)
      try writer.put(location, in: user.realm)
    }
    return location
  }

  public func stopSharing(_ user: Party) async throws(Problem) {
    try await parley.work(keepingCaches: true) { try $0.removeLocation(of: user.id) }
  }

  /// Returns the users who share a location within so many kilometres, the nearest first.
  ///
  /// - Throws: `.malformed`; `.forbidden` if the caller shares none, or asks about another place; `.tooFast`.
  public func nearby(
    latitude: Double, longitude: Double, kilometres: Int, limit: Int, for user: Party
  ) async throws(Problem) -> [(view: UserView, kilometres: Int)] {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    guard let centre = Grid.cell(latitude: latitude, longitude: longitude) else { throw Problem.coordinateMalformed }
    guard (1...AccountLimits.nearbyKilometresMax).contains(kilometres) else {
      throw Problem(
        .malformed, "radius-out-of-range", "radius is from 1 to \(AccountLimits.nearbyKilometresMax) kilometres.",
        field: "radius")
    }
    try pace(.nearby(user.id))
    let now = parley.clock.now
    return try await parley.read { reader in
      guard let own = try reader.location(of: user.id), own.expires > now else {
        throw Problem(.forbidden, "location-not-shared", "Share where you are to find others.", field: "near")
      }
      guard Grid.kilometres(own.cell, centre) <= AccountLimits.nearbyKilometresMax else {
        throw Problem(.forbidden, "location-elsewhere", "near is not near where you share to be.", field: "near")
      }
      var found: [(id: UserID, kilometres: Int)] = []
      for (row, columns) in Grid.around(centre, kilometres: kilometres)
      where found.count < AccountLimits.nearbyLookedAtMax {
        for location in try reader.locations(
          in: user.realm, row: row, columns: columns, after: now, limit: AccountLimits.nearbyLookedAtMax)
        where location.user != user.id {
          let distance = Grid.kilometres(centre, location.cell)
          if distance <= kilometres { found.append((location.user, distance)) }
        }
      }
      found.sort { ($0.kilometres, $0.id) < ($1.kilometres, $1.id) }
      var shown: [(view: UserView, kilometres: Int)] = []
      for (id, distance) in found {
        guard let other = try reader.user(id), other.state == .active, try !reader.isBlocked(other, user) else {
          continue
        }
        shown.append((try reader.view(of: other, for: user), distance))
        if shown.count == limit { break }
      }
      return shown
    }
  }
}

extension Problem {
  static let coordinateMalformed = Problem(
    .malformed, "coordinate-malformed", "That is no place: latitude is from -90 to 90, longitude from -180 to 180.",
    field: "latitude")
}
