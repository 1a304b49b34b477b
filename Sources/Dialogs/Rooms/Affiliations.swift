// Who may change whom in a room (XEP-0045 5.1, 5.2, 8, 9, 10), as values. Theory:
//
// An affiliation lasts, a role is held while one is there. The affiliation decides the role on entering; from there a
// moderator may change roles, an admin or owner affiliations.
//
//   affiliation   role on entering                          may change the affiliation of
//   owner         moderator                                 everybody
//   admin         moderator                                 those who are, and are to be, below admin
//   member        participant                               nobody but themselves, downwards to none
//   watcher       visitor                                   "
//   none          participant; in a moderated room visitor  "
//   outcast       does not enter                            nobody
//
// A room keeps one owner at least.

/// Why a change of affiliation or role is not made.
public enum ChangeRefusal: Error, Hashable, Sendable {
  /// The actor has no such power at all: `forbidden`.
  case powerless
  /// The actor has the power, but not over this person: `not-allowed`.
  case outranked
  /// The room would have no owner: `conflict`.
  case lastOwner
  /// Who may ban does not ban themselves (XEP-0045 9.1): `conflict`.
  case oneself
}

extension Affiliation {
  /// The role with which somebody enters (XEP-0045 5.1.2, table 4).
  public func role(isModerated: Bool) -> Role {
    switch self {
    case .owner, .admin: .moderator
    case .member: .participant
    case .watcher: .visitor
    case .none: isModerated ? .visitor : .participant
    case .outcast: .none
    }
  }

  /// Whether somebody with this affiliation may change another's from `was` to `now` (XEP-0045 9, 10).
  public func mayChange(from was: Affiliation, to now: Affiliation) throws(ChangeRefusal) {
    switch self {
    case .owner: return
    case .admin:
      if was >= .admin || now >= .admin { throw .outranked }
    case .member, .watcher, .none, .outcast: throw .powerless
    }
  }

  /// Whether somebody may change their own affiliation so: only give it up.
  public func mayBecome(_ now: Affiliation) throws(ChangeRefusal) {
    if now == .outcast, self >= .admin { throw .oneself }
    // Who is banned stays banned.
    guard now < self, now >= .none else { throw .powerless }
  }
}

extension Role {
  /// Whether a moderator may change an occupant's role so (XEP-0045 5.1.3, 8.2 to 8.5, 9.6, 9.7). Giving is free, but for
  /// moderation, which only admins give and take. Taking is never from somebody whose affiliation is above the actor's; of
  /// equals a moderator kicks, and does not silence; admins and owners are put out, and are moderators while there.
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
