// The rules of a room's affiliations and roles (XEP-0045 5.1, 5.2, 8, 9, 10), as values. Theory:
//
// An affiliation lasts, a role is held while the user is in the room. The affiliation decides the role on entering;
// after that a moderator may change roles, an admin or owner affiliations.
//
//   affiliation   role on entering                          may change the affiliation of
//   owner         moderator                                 everyone
//   admin         moderator                                 users who are, and will be, below admin
//   member        participant                               only their own, downwards to none
//   watcher       visitor                                   "
//   none          participant; in a moderated room visitor  "
//   outcast       cannot enter                              no one
//
// A room always keeps at least one owner.

/// The reason why a change of affiliation or role is refused.
public enum ChangeRefusal: Error, Hashable, Sendable {
  /// The actor may not make such changes at all: `forbidden`.
  case powerless
  /// The actor may make such changes, but not for this person: `not-allowed`.
  case outranked
  /// The room would have no owner: `conflict`.
  case lastOwner
  /// Users may not ban themselves (XEP-0045 9.1): `conflict`.
  case oneself
}

extension Affiliation {
  /// Returns the role on entering (XEP-0045 5.1.2, table 4).
  public func role(isModerated: Bool) -> Role {
    switch self {
    case .owner, .admin: .moderator
    case .member: .participant
    case .watcher: .visitor
    case .none: isModerated ? .visitor : .participant
    case .outcast: .none
    }
  }

  /// Checks that a user with this affiliation may change another's from `was` to `now` (XEP-0045 9, 10).
  public func mayChange(from was: Affiliation, to now: Affiliation) throws(ChangeRefusal) {
    switch self {
    case .owner: return
    case .admin:
      if was >= .admin || now >= .admin { throw .outranked }
    case .member, .watcher, .none, .outcast: throw .powerless
    }
  }

  /// Checks that a user with this affiliation may give it up for `now`.
  public func mayBecome(_ now: Affiliation) throws(ChangeRefusal) {
    if now == .outcast, self >= .admin { throw .oneself }
    // Outcasts cannot lift their own ban.
    guard now < self, now >= .none else { throw .powerless }
  }
}

extension Role {
  /// Checks that a moderator may change an occupant's role (XEP-0045 5.1.3, 8.2 to 8.5, 9.6, 9.7). Any moderator may
  /// give a role, except that only admins give and take `moderator`. No role is taken from a user whose affiliation is
  /// above the actor's; moderators may kick, but not silence, users of their own affiliation. Admins and owners can be
  /// kicked, and are moderators while present.
  public func mayChange(
    _ was: Role, to now: Role, actor: Affiliation, target: Affiliation
  ) throws(ChangeRefusal) {
    guard self == .moderator || actor >= .admin else { throw .powerless }
    if actor < .admin {
      if now == .moderator { throw .powerless }
      if was == .moderator { throw .outranked }
    }
    if now >= was { return }
    if target > actor { throw .outranked }
    if now == .none { return }
    if target >= .admin || (now == .visitor && actor < .admin && target == actor) { throw .outranked }
  }
}
