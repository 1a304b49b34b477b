import Basics
import Dialogs

/// The list of users.
extension Reader {
  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User] {
    try connection(
      .directory, realm, query.after ?? "", query.text?.lowercased(), bound(query.limit),
      query.text.map { DirectoryQuery.folded($0) }, query.fields.rawValue
    ).bind(query.through ?? Self.lastName).all(Self.user)
  }

  func directoryEnd(of realm: RealmID, after: String?, count: Int) throws -> String? {
    try connection(.directoryEnd, realm, after ?? "", Int64(count - 1)).first { $0.text(0) }
  }

  /// A text that sorts after every name, by bytes: the last code point, which no name contains.
  static let lastName = "\u{10FFFF}"
}

extension Query {
  /// The condition of users whom lists and searches contain, with their settings as `s`.
  private static let listedUser =
    "u.state = \(User.State.active.rawValue) AND u.guest = 0 AND coalesce(s.searchable, 1) = 1"
  /// Reads each user of a range of the realm's names, in order, until there are enough.
  static let directory = Query(
    """
    SELECT \(userColumns) FROM realms r CROSS JOIN users u ON u.realm = r.id
      LEFT JOIN user_settings s ON s.user = u.id
    WHERE r.id = ?1 AND u.name > ?2 AND u.name <= ?7 AND \(listedUser)
      AND (?3 IS NULL OR ((?6 & 2) <> 0 AND substr(u.name, 1, length(?3)) = ?3)
        OR ((?6 & 1) <> 0 AND (instr(u.folded_name, ?5) > 0 OR instr(u.folded_name, ?3) > 0)))
    ORDER BY u.name LIMIT ?4
    """)
  static let directoryEnd = Query(
    """
    SELECT coalesce(
      (SELECT u.name FROM users u LEFT JOIN user_settings s ON s.user = u.id
       WHERE u.realm = ?1 AND u.name > ?2 AND u.name <= e.name AND \(listedUser) ORDER BY u.name DESC LIMIT 1),
      e.name)
    FROM (SELECT name FROM users WHERE realm = ?1 AND name > ?2 ORDER BY name LIMIT 1 OFFSET ?3) e
    """)
}
