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
// The committer decides with this value, inside a batch. Each change notes what stood there before; when the batch fails,
// the notes are gone through backwards. So a change costs the same in a room of two and of two thousand.

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

  /// Who stood under a key before a change; nil: nobody.
  struct Change {
    let key: String
    let was: Occupant?
  }

  /// By comparison key of the nick (RFC 8266 2.4).
  private(set) var byKey: [String: Occupant] = [:]
  // What follows from it, so that nobody has to look through it.
  private var keys: [SessionID: String] = [:]
  private var keysByUser: [UserID: String] = [:]
  private var shownKeys: Set<String> = []
  private var changes: [Change] = []

  static func == (a: Self, b: Self) -> Bool {
    a.byKey == b.byKey && a.keys == b.keys && a.keysByUser == b.keysByUser && a.shownKeys == b.shownKeys
  }

  var count: Int { byKey.count }
  var isEmpty: Bool { byKey.isEmpty }
  var sessions: [SessionID] { Array(keys.keys) }
  /// Those the others have been told of.
  var shown: [Occupant] { shownKeys.compactMap { byKey[$0] } }

  func key(of session: SessionID) -> String? { keys[session] }
  func key(of user: UserID) -> String? { keysByUser[user] }
  func occupant(of session: SessionID) -> Occupant? { keys[session].flatMap { byKey[$0] } }
  func occupant(of user: UserID) -> Occupant? { keysByUser[user].flatMap { byKey[$0] } }

  // MARK: Changing, and going back

  /// All changes come through here.
  private mutating func put(_ occupant: Occupant?, at key: String) {
    let was = byKey[key]
    changes.append(Change(key: key, was: was))
    byKey[key] = occupant
    if let was {
      for seat in was.seats { keys[seat.session.id] = nil }
      keysByUser[was.party.id] = nil
    }
    if let occupant {
      for seat in occupant.seats { keys[seat.session.id] = key }
      keysByUser[occupant.party.id] = key
    }
    if occupant?.isShown == true { shownKeys.insert(key) } else { shownKeys.remove(key) }
  }

  /// What has changed since this was asked last, in order.
  mutating func takeChanges() -> [Change] {
    defer { changes = [] }
    return changes
  }

  /// The last change first.
  mutating func undo(_ change: Change) {
    put(change.was, at: change.key)
    changes = []
  }

  // MARK: Coming and going

  /// A session enters under the nick with this key, as a new occupant or as a
  /// further seat of the one that is there; the caller has checked that nobody
  /// else holds the nick. The occupant afterwards.
  mutating func enter(
    _ seat: Seat, party: Party, nick: String, key: String, affiliation: Affiliation, role: Role
  ) -> Occupant {
    if var occupant = byKey[key] {
      occupant.seats.removeAll { $0.session.id == seat.session.id }
      occupant.seats.insert(seat, at: seat.isApp ? 0 : occupant.seats.endIndex)
      put(occupant, at: key)
      return occupant
    }
    let isShown = role == .moderator || byKey.count < Limits.shownOccupantsMax
    let occupant = Occupant(
      party: party, nick: nick, affiliation: affiliation, role: role, seats: [seat], isShown: isShown)
    put(occupant, at: key)
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
    put(occupant, at: key)
    return occupant
  }

  /// A session goes. The occupant before, and after where other seats are left;
  /// nil: it was not here.
  mutating func exit(_ session: SessionID) -> (before: Occupant, after: Occupant?)? {
    guard let key = keys[session], let before = byKey[key] else { return nil }
    var after = before
    after.seats.removeAll { $0.session.id == session }
    let rest = after.seats.isEmpty ? nil : after
    put(rest, at: key)
    return (before, rest)
  }

  /// All seats of an occupant at once.
  mutating func remove(key: String) -> Occupant? {
    guard let occupant = byKey[key] else { return nil }
    put(nil, at: key)
    return occupant
  }

  mutating func rename(from key: String, to newKey: String, nick: String) -> Occupant? {
    guard var occupant = remove(key: key) else { return nil }
    occupant.nick = nick
    put(occupant, at: newKey)
    return occupant
  }

  mutating func set(affiliation: Affiliation? = nil, role: Role? = nil, isShown: Bool? = nil, key: String) -> Occupant?
  {
    guard var occupant = byKey[key] else { return nil }
    if let affiliation { occupant.affiliation = affiliation }
    if let role { occupant.role = role }
    if let isShown { occupant.isShown = isShown }
    put(occupant, at: key)
    return occupant
  }

  /// A resumed session takes over a seat (XEP-0198 5). False: there is none.
  mutating func reseat(from old: SessionID, to session: any LiveSession) -> Bool {
    guard let key = keys[old], var occupant = byKey[key],
      let index = occupant.seats.firstIndex(where: { $0.session.id == old })
    else { return false }
    occupant.seats[index] = Seat(
      session: session, presence: occupant.seats[index].presence, isApp: occupant.seats[index].isApp)
    put(occupant, at: key)
    return true
  }
}
