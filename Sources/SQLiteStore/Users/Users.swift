import Addresses
import Basics
import Dialogs

/// The realms and users.
extension Reader {
  func realms() throws -> [Realm] {
    let epochs = try epochs()
    return try connection(.realms).all { Self.realm($0, epochs) }
  }

  func user(_ address: BareJID) throws -> User? {
    try connection(.userByAddress, address.domain, address.local ?? "").first(Self.user)
  }

  func user(_ address: BareJID, seenFrom realm: RealmID) throws -> User? {
    guard let found = try realmTable().realm(domain: address.domain, reachedFrom: realm) else { return nil }
    return try connection(.userByName, found.id, found.name(of: address)).first(Self.user)
  }

  func home(of realm: RealmID) throws -> RealmID { realm.isRemote ? try realmTable().home(of: realm) : realm }

  func user(_ id: UserID) throws -> User? { try connection(.user, id).first(Self.user) }

  func users(in realm: RealmID, matching: String?, after: String?, limit: Int) throws -> [User] {
    try connection(
      .users, realm, after ?? "", matching?.lowercased(), bound(limit), matching.map { DirectoryQuery.folded($0) }
    ).all(Self.user)
  }

  func userCount(in realm: RealmID) throws -> Int {
    try connection(.userCount, realm).first { Int($0.int(0)) } ?? 0
  }

  func lastLogin(of user: UserID) throws -> Timestamp? {
    try connection(.lastLogin, user).first { $0.intOrNil(0) }.flatMap { $0 }
      .map { Timestamp(milliseconds: $0) }
  }

  func guests() throws -> [UserID] { try connection(.guests).all { UserID($0.int(0)) } }

  static func user(_ row: Prepared) throws -> User {
    guard let state = User.State(rawValue: UInt8(clamping: row.int(4))) else {
      throw StoreFailure.corrupt("user \(row.int(0)) is in an unknown state")
    }
    return User(
      id: UserID(row.int(0)), realm: RealmID(row.int(1)), address: try address(row.text(2), row.text(3)), state: state,
      createdAt: Timestamp(milliseconds: row.int(5)),
      profile: Profile(
        displayName: row.textOrNil(6), status: row.textOrNil(7), avatarHash: row.textOrNil(8),
        metadata: row.textOrNil(9), avatarURL: row.textOrNil(13)),
      lastSeenAt: row.intOrNil(10).map { Timestamp(milliseconds: $0) }, delivered: Position(row.int(11)),
      isGuest: row.int(12) == 1)
  }
}

extension Writer {
  func insertRealm(domain: String, rooms: String, key: [UInt8], epoch: UInt32) throws -> Realm {
    let id = try connection(.insertRealm, domain, rooms, key, epoch).first {
      RealmID($0.int(0))
    }
    guard let id else { throw StoreFailure.corrupt("a new realm got no number") }
    directory.forget()
    return Realm(id: id, domain: domain, rooms: rooms, key: key, epoch: epoch)
  }

  func insertRealm(remote domain: String, home: Realm) throws -> Realm {
    let id = try connection(.insertRemoteRealm, domain, home.key, home.epoch).first {
      RealmID($0.int(0))
    }
    guard let id else { throw StoreFailure.corrupt("a new realm got no number") }
    directory.forget()
    return Realm(id: id, domain: domain, rooms: "", key: home.key, epoch: home.epoch)
  }

  func setRooms(_ domain: String, of realm: RealmID) throws {
    try connection(.setRooms, realm, domain).run()
    directory.forget()
  }

  func insertUser(
    _ address: BareJID, in realm: RealmID, profile: Profile, createdAt: Timestamp
  ) throws -> User {
    let name = realm.isRemote ? try realmTable().realm(realm)?.name(of: address) : address.local
    let id = try connection(
      .insertUser, realm, name ?? "", createdAt, profile.displayName,
      profile.displayName.map { DirectoryQuery.folded($0) }, profile.status
    ).bind(profile.avatarHash, profile.metadata, profile.avatarURL)
      .first { UserID($0.int(0)) }
    guard let id else { throw StoreConflict() }
    return User(
      id: id, realm: realm, address: address, state: .active, createdAt: createdAt, profile: profile,
      lastSeenAt: nil, delivered: .zero)
  }

  func insertGuest(_ address: BareJID, in realm: RealmID, createdAt: Timestamp) throws -> User {
    let user = try insertUser(address, in: realm, profile: Profile(), createdAt: createdAt)
    try connection(.setGuest, user.id).run()
    return User(
      id: user.id, realm: realm, address: address, state: .active, createdAt: createdAt, profile: user.profile,
      lastSeenAt: nil, delivered: .zero, isGuest: true)
  }

  func update(_ user: User) throws {
    let profile = user.profile
    try connection(
      .updateUser, user.id, user.state.rawValue, profile.displayName,
      profile.displayName.map { DirectoryQuery.folded($0) }, profile.status, profile.avatarHash
    ).bind(profile.metadata, user.lastSeenAt, user.delivered, profile.avatarURL).run()
  }

  func setDelivered(_ position: Position, for user: UserID) throws {
    try connection(.setDelivered, user, position).run()
  }

  func setLastSeen(_ time: Timestamp, for user: UserID) throws {
    try connection(.setLastSeen, user, time).run()
  }

  func setLastLogin(_ time: Timestamp, of user: UserID) throws {
    try connection(.setLastLogin, user, time).run()
  }

  func endGuest(_ user: UserID) throws { try connection(.endGuest, user).run() }
}

extension Query {
  fileprivate static let realms = Query("SELECT id, domain, rooms, key, epoch FROM realms ORDER BY id")
  fileprivate static let insertRealm = Query(
    "INSERT INTO realms (domain, rooms, key, epoch) VALUES (?1, ?2, ?3, ?4) RETURNING id")
  fileprivate static let insertRemoteRealm = Query(
    """
    INSERT INTO realms (id, domain, rooms, key, epoch)
    VALUES ((SELECT min(0, coalesce(min(id), 0)) - 1 FROM realms), ?1, '', ?2, ?3) RETURNING id
    """)
  fileprivate static let setRooms = Query("UPDATE realms SET rooms = ?2 WHERE id = ?1")

  static let userColumns = """
    u.id, u.realm, u.name, r.domain, u.state, u.created, u.display_name, u.status, u.avatar_hash, u.metadata,
    u.last_seen, u.delivered, u.guest, u.avatar_url
    """
  fileprivate static let user = Query(
    "SELECT \(userColumns) FROM users u JOIN realms r ON r.id = u.realm WHERE u.id = ?1")
  fileprivate static let userByAddress = Query(
    """
    SELECT \(userColumns) FROM realms r CROSS JOIN users u ON u.realm = r.id WHERE r.domain = ?1 AND u.name = ?2
    """)
  fileprivate static let userByName = Query(
    "SELECT \(userColumns) FROM users u JOIN realms r ON r.id = u.realm WHERE u.realm = ?1 AND u.name = ?2")
  /// It reads each user of the realm, which is acceptable for the rare searches by operators.
  fileprivate static let users = Query(
    """
    SELECT \(userColumns) FROM realms r CROSS JOIN users u ON u.realm = r.id
    WHERE r.id = ?1 AND u.name > ?2 AND u.state <> \(User.State.deleted.rawValue) AND u.guest = 0
      AND (?3 IS NULL OR substr(u.name, 1, length(?3)) = ?3 OR instr(u.folded_name, ?3) > 0
        OR instr(u.folded_name, ?5) > 0)
    ORDER BY u.name LIMIT ?4
    """)
  fileprivate static let userCount = Query(
    "SELECT count(*) FROM users WHERE realm = ?1 AND state <> \(User.State.deleted.rawValue) AND guest = 0")
  /// The condition is written as in the index, so that the engine uses it.
  fileprivate static let guests = Query("SELECT id FROM users WHERE guest = 1 AND state <> 2 ORDER BY id")
  fileprivate static let endGuest = Query("UPDATE users SET guest = 0 WHERE id = ?1")
  fileprivate static let lastLogin = Query("SELECT last_login FROM users WHERE id = ?1")
  fileprivate static let setLastLogin = Query("UPDATE users SET last_login = ?2 WHERE id = ?1")
  fileprivate static let setGuest = Query("UPDATE users SET guest = 1 WHERE id = ?1")
  /// It returns no row if the name is or was taken.
  fileprivate static let insertUser = Query(
    """
    INSERT INTO users
      (realm, name, state, created, display_name, folded_name, status, avatar_hash, metadata, avatar_url, delivered)
    VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0) ON CONFLICT (realm, name) DO NOTHING RETURNING id
    """)
  fileprivate static let updateUser = Query(
    """
    UPDATE users SET state = ?2, display_name = ?3, folded_name = ?4, status = ?5, avatar_hash = ?6, metadata = ?7,
      last_seen = ?8, delivered = ?9, avatar_url = ?10 WHERE id = ?1
    """)
  fileprivate static let setDelivered = Query(
    "UPDATE users SET delivered = ?2 WHERE id = ?1 AND delivered < ?2")
  fileprivate static let setLastSeen = Query("UPDATE users SET last_seen = ?2 WHERE id = ?1")
}
