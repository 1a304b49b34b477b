import Addresses

// Who is in a room now (XEP-0045 5.1, 7), as a value. Theory:
//
// An occupant is one user under one nick; each of the user's sessions that has entered is a seat. The first seat makes the
// occupant, the last one to go ends it. What others see of an occupant is the presence of the seat that spoke last.
//
//   absent -enter-> present(1 seat) -enter-> present(n seats) -exit-> present(n - 1) ... -exit-> absent
//                   present -rename-> present under another nick
//                   present -role none (kick), affiliation outcast (ban)-> absent, all seats at once
//
// Being there is not stored: after a restart a room is empty, and those who come back enter again. Nicks of members are
// stored, in the list of members; here is only who holds which now.
//
// The committer decides with this value, inside a batch; when the batch fails, the former value is put back.

struct Occupants: Equatable {
  struct Seat: Equatable {
    let session: any LiveSession
    var presence: Presence
    /// Hears the room as a follower, and no presences or private messages.
    var isApp = false
    static func == (a: Seat, b: Seat) -> Bool { a.session.id == b.session.id && a.presence === b.presence }
  }

  struct Occupant: Equatable {
    let party: Party
    var nick: String { didSet { memo = Memo() } }
    var affiliation: Affiliation { didSet { memo = Memo() } }
    var role: Role { didSet { memo = Memo() } }
    /// The one that spoke for the occupant last is last. Never empty.
    var seats: [Seat] { didSet { memo = Memo() } }
    /// The others have been told of it.
    var isShown: Bool
    /// Those of its sessions that hear presences and private messages.
    var listeners: [any LiveSession] { seats.filter { !$0.isApp }.map(\.session) }
    /// Its presence as it is, made once for all who come.
    private(set) var memo = Memo()

    init(party: Party, nick: String, affiliation: Affiliation, role: Role, seats: [Seat], isShown: Bool) {
      self.party = party
      self.nick = nick
      self.affiliation = affiliation
      self.role = role
      self.seats = seats
      self.isShown = isShown
    }

    static func == (a: Self, b: Self) -> Bool {
      a.party == b.party && a.nick == b.nick && a.affiliation == b.affiliation && a.role == b.role
        && a.seats == b.seats && a.isShown == b.isShown
    }
  }

  final class Memo {
    var presence: OccupantPresence?
  }

  /// By comparison key of the nick (RFC 8266 2.4).
  private(set) var byKey: [String: Occupant] = [:]
  private var keys: [SessionID: String] = [:]
  private var keysByUser: [UserID: String] = [:]

  var count: Int { byKey.count }
  var isEmpty: Bool { byKey.isEmpty }
  var sessions: [SessionID] { Array(keys.keys) }

  func key(of session: SessionID) -> String? { keys[session] }
  func key(of user: UserID) -> String? { keysByUser[user] }
  func occupant(of session: SessionID) -> Occupant? { keys[session].flatMap { byKey[$0] } }
  func occupant(of user: UserID) -> Occupant? { keysByUser[user].flatMap { byKey[$0] } }

  /// A session enters under the nick with this key, as a new occupant or as a
  /// further seat of the one that is there; the caller has checked that nobody
  /// else holds the nick. The occupant afterwards.
  mutating func enter(
    _ seat: Seat, party: Party, nick: String, key: String, affiliation: Affiliation, role: Role
  ) -> Occupant {
    keys[seat.session.id] = key
    if var occupant = byKey[key] {
      occupant.seats.removeAll { $0.session.id == seat.session.id }
      occupant.seats.insert(seat, at: seat.isApp ? 0 : occupant.seats.endIndex)
      byKey[key] = occupant
      return occupant
    }
    let isShown = role == .moderator || byKey.count < Limits.shownOccupantsMax
    let occupant = Occupant(
      party: party, nick: nick, affiliation: affiliation, role: role, seats: [seat], isShown: isShown)
    byKey[key] = occupant
    keysByUser[party.id] = key
    return occupant
  }

  /// The seat says something else of itself. The occupant afterwards; nil: it is
  /// not here.
  mutating func show(_ presence: Presence, by session: SessionID) -> Occupant? {
    guard let key = keys[session], var occupant = byKey[key],
      let index = occupant.seats.firstIndex(where: { $0.session.id == session })
    else { return nil }
    var seat = occupant.seats.remove(at: index)
    seat.presence = presence
    occupant.seats.append(seat)
    byKey[key] = occupant
    return occupant
  }

  /// A session goes. The occupant before, and after where other seats are left;
  /// nil: it was not here.
  mutating func exit(_ session: SessionID) -> (before: Occupant, after: Occupant?)? {
    guard let key = keys.removeValue(forKey: session), let before = byKey[key] else { return nil }
    var after = before
    after.seats.removeAll { $0.session.id == session }
    if after.seats.isEmpty {
      byKey[key] = nil
      keysByUser[before.party.id] = nil
      return (before, nil)
    }
    byKey[key] = after
    return (before, after)
  }

  /// All seats of an occupant at once.
  mutating func remove(key: String) -> Occupant? {
    guard let occupant = byKey.removeValue(forKey: key) else { return nil }
    keysByUser[occupant.party.id] = nil
    for seat in occupant.seats { keys[seat.session.id] = nil }
    return occupant
  }

  mutating func rename(from key: String, to newKey: String, nick: String) -> Occupant? {
    guard var occupant = byKey.removeValue(forKey: key) else { return nil }
    occupant.nick = nick
    byKey[newKey] = occupant
    keysByUser[occupant.party.id] = newKey
    for seat in occupant.seats { keys[seat.session.id] = newKey }
    return occupant
  }

  mutating func set(affiliation: Affiliation? = nil, role: Role? = nil, isShown: Bool? = nil, key: String) -> Occupant? {
    guard var occupant = byKey[key] else { return nil }
    if let affiliation { occupant.affiliation = affiliation }
    if let role { occupant.role = role }
    if let isShown { occupant.isShown = isShown }
    byKey[key] = occupant
    return occupant
  }

  /// A resumed session takes over a seat (XEP-0198 5). False: there is none.
  mutating func reseat(from old: SessionID, to session: any LiveSession) -> Bool {
    guard let key = keys.removeValue(forKey: old), var occupant = byKey[key],
      let index = occupant.seats.firstIndex(where: { $0.session.id == old })
    else { return false }
    occupant.seats[index] = Seat(
      session: session, presence: occupant.seats[index].presence, isApp: occupant.seats[index].isApp)
    byKey[key] = occupant
    keys[session.id] = key
    return true
  }
}
