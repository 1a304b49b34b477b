import Basics
import Dialogs

/// The list of users.
extension Reader {
  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User] {
    try connection(
      .directory, realm, query.after ?? "", query.text?.lowercased(), bound(query.limit),
      query.text.map { DirectoryQuery.folded($0) }, query.fields.rawValue
    ).all(Self.user)
  }
}

extension Query {
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
