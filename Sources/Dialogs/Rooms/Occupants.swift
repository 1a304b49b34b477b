import Addresses

// The occupants of a room (XEP-0045 5.1, 7), as a value. Theory:
//
// An occupant is one user under one nick; each of the user's sessions that has entered is one of its sessions. The
// first one creates the occupant, leaving with the last one removes it. Others see the presence of the session that
// sent one last.
//
//   absent -enter-> present(1 session) -enter-> present(n sessions) -exit-> present(n - 1) ... -exit-> absent
//                   present -rename-> present under another nick
//                   present -role none (kick), affiliation outcast (ban)-> absent, all sessions at once
//
// Occupants are not stored: after a restart a room is empty, and returning clients enter again. Nicks of members are
// stored in the member list; this value only records their current holders.
//
// The committer changes this value inside a batch. Each change notes the previous value; if the batch fails, the notes
// are undone in reverse order. So a change costs the same in a room of two and of two thousand.

struct Occupants: Equatable {
  struct OccupantSession: Equatable {
    let session: any LiveSession
    var presence: Presence
    /// Whether the session follows the room by the app protocol, and receives no presences or private messages.
    var isApp = false
    static func == (a: OccupantSession, b: OccupantSession) -> Bool {
      a.session.id == b.session.id && a.presence === b.presence
    }
  }

  struct Occupant: Equatable {
    let party: Party
    var nick: String { didSet { presenceCache = PresenceCache() } }
    var affiliation: Affiliation { didSet { presenceCache = PresenceCache() } }
    var role: Role { didSet { presenceCache = PresenceCache() } }
    /// The sessions, never empty. The one that sent presence last is last.
    var sessions: [OccupantSession] { didSet { presenceCache = PresenceCache() } }
    /// Whether the other occupants have been sent this occupant's presence.
    var isShown: Bool
    /// The bytes of the presences of all its sessions.
    var presenceBytes: Int { sessions.reduce(0) { $0 + $1.presence.byteCount } }
    /// The sessions that receive presences and private messages.
    var listeners: [any LiveSession] { sessions.filter { !$0.isApp }.map(\.session) }
    /// The cache of its current presence, encoded once for all who enter.
    private(set) var presenceCache = PresenceCache()

    init(party: Party, nick: String, affiliation: Affiliation, role: Role, sessions: [OccupantSession], isShown: Bool) {
      self.party = party
      self.nick = nick
      self.affiliation = affiliation
      self.role = role
      self.sessions = sessions
      self.isShown = isShown
    }

    static func == (a: Self, b: Self) -> Bool {
      a.party == b.party && a.nick == b.nick && a.affiliation == b.affiliation && a.role == b.role
        && a.sessions == b.sessions && a.isShown == b.isShown
    }
  }

  final class PresenceCache {
    var presence: OccupantPresence?
    /// Whether the room was read-only, where participants show no text.
    var isReadOnly = false
  }

  /// The previous and the new value at a key; `nil` for none.
  struct Change {
    let key: String
    let was: Occupant?
    let now: Occupant?
  }

  /// The occupants by the comparison key of their nick (RFC 8266 2.4).
  private(set) var byKey: [String: Occupant] = [:]
  // Indexes of `byKey`, so that it is never searched.
  private var keys: [SessionID: String] = [:]
  private var keysByUser: [UserID: String] = [:]
  private var shownKeys: Set<String> = []
  private(set) var looks = NickLooks()
  private var changes: [Change] = []

  static func == (a: Self, b: Self) -> Bool {
    a.byKey == b.byKey && a.keys == b.keys && a.keysByUser == b.keysByUser && a.shownKeys == b.shownKeys
      && a.looks == b.looks
  }

  var count: Int { byKey.count }
  var isEmpty: Bool { byKey.isEmpty }
  var sessions: [SessionID] { Array(keys.keys) }
  /// The occupants whose presence the others have been sent.
  var shown: [Occupant] { shownKeys.compactMap { byKey[$0] } }

  func key(of session: SessionID) -> String? { keys[session] }
  func key(of user: UserID) -> String? { keysByUser[user] }
  func occupant(of session: SessionID) -> Occupant? { keys[session].flatMap { byKey[$0] } }
  func occupant(of user: UserID) -> Occupant? { keysByUser[user].flatMap { byKey[$0] } }

  // MARK: Changing and undoing

  /// Replaces an occupant; every change goes through this function.
  private mutating func put(_ occupant: Occupant?, at key: String) {
    let was = byKey[key]
    changes.append(Change(key: key, was: was, now: occupant))
    byKey[key] = occupant
    if let was {
      for occupantSession in was.sessions { keys[occupantSession.session.id] = nil }
      keysByUser[was.party.id] = nil
    }
    if let occupant {
      for occupantSession in occupant.sessions { keys[occupantSession.session.id] = key }
      keysByUser[occupant.party.id] = key
    }
    if was?.party.id != occupant?.party.id || was?.nick != occupant?.nick {
      if let was { looks[was.party.id] = nil }
      if let occupant { looks[occupant.party.id] = NickLook(occupant.nick) }
    }
    if occupant?.isShown == true { shownKeys.insert(key) } else { shownKeys.remove(key) }
  }

  /// Returns the changes since the last call, in order.
  mutating func takeChanges() -> [Change] {
    defer { changes = [] }
    return changes
  }

  /// Undoes a change; the last one must be undone first.
  mutating func undo(_ change: Change) {
    put(change.was, at: change.key)
    changes = []
  }

  // MARK: Entering and leaving

  /// Adds a session under the nick with this key, as a new occupant or as a further session of the present one; the
  /// caller has checked that no one else holds the nick. Returns the occupant afterwards.
  mutating func enter(
    _ occupantSession: OccupantSession, party: Party, nick: String, key: String, affiliation: Affiliation, role: Role
  ) -> Occupant {
    if var occupant = byKey[key] {
      occupant.sessions.removeAll { $0.session.id == occupantSession.session.id }
      occupant.sessions.insert(occupantSession, at: occupantSession.isApp ? 0 : occupant.sessions.endIndex)
      put(occupant, at: key)
      return occupant
    }
    let isShown = role == .moderator || byKey.count < Limits.shownOccupantsMax
    let occupant = Occupant(
      party: party, nick: nick, affiliation: affiliation, role: role, sessions: [occupantSession], isShown: isShown)
    put(occupant, at: key)
    return occupant
  }

  /// Replaces the presence of a session. Returns the occupant afterwards; `nil` if the session is not in
  /// the room.
  mutating func show(_ presence: Presence, by session: SessionID) -> Occupant? {
    guard let key = keys[session], var occupant = byKey[key],
      let index = occupant.sessions.firstIndex(where: { $0.session.id == session })
    else { return nil }
    var occupantSession = occupant.sessions.remove(at: index)
    occupantSession.presence = presence
    occupant.sessions.append(occupantSession)
    put(occupant, at: key)
    return occupant
  }

  /// Replaces the presences of a user's sessions by bare ones.
  mutating func forgetPresences(of user: UserID) {
    guard let key = keysByUser[user], var occupant = byKey[key] else { return }
    for index in occupant.sessions.indices where occupant.sessions[index].presence.byteCount > 0 {
      occupant.sessions[index].presence = occupant.sessions[index].presence.bare()
    }
    put(occupant, at: key)
  }

  /// Removes a session. Returns the occupant before, and after if other sessions are left; `nil` if the session is not
  /// in the room.
  mutating func exit(_ session: SessionID) -> (before: Occupant, after: Occupant?)? {
    guard let key = keys[session], let before = byKey[key] else { return nil }
    var after = before
    after.sessions.removeAll { $0.session.id == session }
    let rest = after.sessions.isEmpty ? nil : after
    put(rest, at: key)
    return (before, rest)
  }

  /// Removes an occupant with all sessions.
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

  /// Replaces a session by the one that resumed it (XEP-0198 5). Returns `false` if the old one is not in the room.
  mutating func replace(from old: SessionID, to session: any LiveSession) -> Bool {
    guard let key = keys[old], var occupant = byKey[key],
      let index = occupant.sessions.firstIndex(where: { $0.session.id == old })
    else { return false }
    occupant.sessions[index] = OccupantSession(
      session: session, presence: occupant.sessions[index].presence, isApp: occupant.sessions[index].isApp)
    put(occupant, at: key)
    return true
  }
}
