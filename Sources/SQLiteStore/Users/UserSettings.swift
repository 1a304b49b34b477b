import Basics
import Dialogs

/// The settings of users, and the list of users.
extension Reader {
  func userSettings(of user: UserID) throws -> UserSettings {
    let found = try connection(.userSettings).bind(1, user.number).first { row in
      var settings = UserSettings()
      guard let lastSeen = Visibility(rawValue: UInt8(clamping: row.int(0))) else {
        throw StoreFailure.corrupt("user \(user.number) shows when they were seen to nobody known")
      }
      guard let callsFrom = Visibility(rawValue: UInt8(clamping: row.int(7))) else {
        throw StoreFailure.corrupt("user \(user.number) takes calls from nobody known")
      }
      settings.lastSeen = lastSeen
      settings.callsFrom = callsFrom
      settings.isSearchable = row.int(1) == 1
      settings.isMatchable = row.int(2) == 1
      settings.contactsMetadata = row.textOrNil(3)
      settings.privateMetadata = row.textOrNil(4)
      if let version = row.textOrNil(5) {
        settings.terms = TermsAcceptance(version: version, time: Timestamp(milliseconds: row.int(6)))
      }
      return settings
    }
    return found ?? UserSettings()
  }

  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User] {
    try connection(.directory).bind(1, realm.number).bind(2, query.after ?? "").bind(3, query.text?.lowercased())
      .bind(4, bound(query.limit)).bind(5, query.text.map { DirectoryQuery.folded($0) })
      .bind(6, query.fields.rawValue).all(Self.user)
  }

  func users(matching key: [UInt8], in realm: RealmID) throws -> [UserID] {
    try connection(.usersMatching).bind(1, realm.number).bind(2, key).all { UserID($0.int(0)) }
  }
}

extension Writer {
  func put(_ settings: UserSettings, of user: UserID) throws {
    try connection(.putUserSettings).bind(1, user.number).bind(2, Int64(settings.lastSeen.rawValue))
      .bind(3, settings.isSearchable ? 1 : 0).bind(4, settings.isMatchable ? 1 : 0).bind(5, settings.contactsMetadata)
      .bind(6, settings.privateMetadata).bind(7, settings.terms?.version).bind(8, settings.terms?.time.milliseconds)
      .bind(9, Int64(settings.callsFrom.rawValue)).run()
    try refreshMatchKeys(of: user)
  }

  /// Writes the match keys of the user's present identities, as their settings allow.
  func refreshMatchKeys(of user: UserID) throws {
    try connection(.deleteMatchKeys).bind(1, user.number).run()
    guard try userSettings(of: user).isMatchable, let realm = try party(user)?.realm,
      let salt = try matchSalt(of: realm)
    else { return }
    for identity in try identities(of: user) {
      guard let subject = ContactMatch.subject(of: identity.identity) else { continue }
      try connection(.insertMatchKey).bind(1, realm.number).bind(2, ContactMatch.key(subject, salt: salt))
        .bind(3, user.number).run()
    }
  }
}

extension Query {
  static let deleteUserSettings = Query("DELETE FROM user_settings WHERE user = ?1")
  static let deleteMatchKeys = Query("DELETE FROM match_keys WHERE user = ?1")
  fileprivate static let insertMatchKey = Query(
    "INSERT INTO match_keys (realm, key, user) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
  fileprivate static let usersMatching = Query("SELECT user FROM match_keys WHERE realm = ?1 AND key = ?2")
  fileprivate static let userSettings = Query(
    """
    SELECT last_seen, searchable, matchable, contacts_metadata, private_metadata, terms, terms_time, calls_from
    FROM user_settings WHERE user = ?1
    """)
  fileprivate static let putUserSettings = Query(
    """
    INSERT OR REPLACE INTO user_settings
      (user, last_seen, searchable, matchable, contacts_metadata, private_metadata, terms, terms_time, calls_from)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    """)
  /// Looks at each user of the realm, in order, until there are enough.
  fileprivate static let directory = Query(
    """
    SELECT \(userColumns) FROM realms r CROSS JOIN users u ON u.realm = r.id
      LEFT JOIN user_settings s ON s.user = u.id
    WHERE r.id = ?1 AND u.name > ?2 AND u.state = \(User.State.active.rawValue) AND u.guest = 0
      AND coalesce(s.searchable, 1) = 1
      AND (?3 IS NULL OR ((?6 & 2) <> 0 AND substr(u.name, 1, length(?3)) = ?3)
        OR ((?6 & 1) <> 0 AND (instr(u.folded_name, ?5) > 0 OR instr(u.folded_name, ?3) > 0)))
    ORDER BY u.name LIMIT ?4
    """)
}
