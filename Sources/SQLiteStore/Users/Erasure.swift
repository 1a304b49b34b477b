import Dialogs

/// The removal of a deleted user's data, in pieces. Theory:
///
/// A step is a table, or a part of one. A piece continues where the former one has ended, and does steps until its number of rows is
/// used up. The rows of a step are found by the user, so that the remaining ones are always the first; steps that must also read rows
/// of others store the last row that they have read, and each read counts as a row. After a restart the removal begins with the first
/// step again, which finds no more rows. A row with a large value counts as several.
private enum ErasureStep: Sendable {
  /// Rows of one table: the query has the user and the number of rows.
  case rows(Query, weight: Int = 1)
  /// Rows of the people of nodes: the first query returns the keys, the second one changes the row of one.
  case people(Query, Query)
  /// The nodes of services whose only owner the user is.
  case services
  /// Rows without an index by user: the first query returns the ids and users behind an id, the second one removes a row.
  case scan(Query, Query)
  /// The notifications of backends, first those whose ids are in memory, then those in the table.
  case freshNotifications
  case notifications
  /// Files that nobody may read any more, which end.
  case files
  /// The memberships and marks of rooms, and the settings of dialogs.
  case marks
  case outbox

  /// The steps in order. Content that others may still see is removed first, and the marks after everything that is found by them.
  static let all: [ErasureStep] = [
    .rows(.eraseNodes), .rows(.eraseValues, weight: large), .rows(.eraseItems, weight: large),
    .people(.ownAffiliations, .eraseAffiliation), .people(.ownSubscriptions, .eraseSubscription), .services,
    .people(.created, .forgetCreator), .people(.affiliationsElsewhere, .eraseAffiliation),
    .people(.subscriptionsElsewhere, .eraseSubscription), .rows(.eraseRegistrations), .rows(.eraseOwedPushes),
    .rows(.eraseScheduled, weight: large), .files, .rows(.forgetLastLogin), .rows(.eraseContacts), .rows(.eraseBlocks),
    .rows(.eraseDrafts, weight: large), .rows(.eraseStars), .rows(.eraseHidden), .rows(.eraseCleared),
    .rows(.eraseMentions), .rows(.eraseCallsBy), .rows(.eraseCallsTo), .scan(.suspendedBehind, .eraseSuspended),
    .scan(.stanzasBehind, .eraseStanzas), .outbox, .freshNotifications, .notifications, .marks,
  ]
  /// The number of rows that count for one with up to some 200 kB: a piece has 20 of them, 4 MB, which take some milliseconds.
  static let large = 25
  /// The number of rows that count for one whose removal takes several statements.
  static let several = 4
}

extension ErasurePlace {
  fileprivate mutating func advance() { self = ErasurePlace(step: step + 1) }
}

extension Writer {
  func eraseData(
    of user: UserID, endingFiles: Bool, at place: ErasurePlace, limit: Int
  ) throws -> ErasedPiece {
    var (piece, place, left) = (ErasedPiece(), place, limit)
    while place.step < ErasureStep.all.count {
      if left <= 0 {
        piece.next = place
        break
      }
      switch ErasureStep.all[place.step] {
      case .rows(let query, let weight): left -= try erase(query, of: user, weight: weight, left, &place)
      case .people(let keys, let change):
        let count = try changePeople(keys, change, of: user, left, &place)
        if count > 0 { piece.changesNodes = true }
        left -= count
      case .services:
        let count = try eraseService(of: user, left, &place)
        if count > 0 { piece.changesNodes = true }
        left -= count
      case .scan(let rows, let removal): left -= try erase(rows, removal, of: user, left, &place)
      case .freshNotifications: left -= try eraseFreshNotifications(to: user, left, &place)
      case .notifications: left -= try eraseNotifications(to: user, left, &place)
      case .files: left -= try endFiles(of: user, all: endingFiles, left, &place)
      case .marks: left -= try eraseMarks(of: user, left, &place, &piece)
      case .outbox: left -= try eraseOutbox(of: user, left, &place, &piece)
      }
    }
    return piece
  }

  private func erase(
    _ query: Query, of user: UserID, weight: Int, _ limit: Int, _ place: inout ErasurePlace
  ) throws -> Int {
    let most = max(1, limit / weight)
    let statement = try connection(query, user, most)
    try statement.run()
    let count = Int(statement.changes)
    if count < most { place.advance() }
    return count * weight
  }

  private func changePeople(
    _ keys: Query, _ change: Query, of user: UserID, _ limit: Int, _ place: inout ErasurePlace
  ) throws -> Int {
    let rows = try connection(keys, user, limit).all { (owner: $0.int(0), node: $0.text(1), person: $0.text(2)) }
    for row in rows { try connection(change, row.owner, row.node, row.person).run() }
    if rows.count < limit { place.advance() }
    return rows.count
  }

  /// Removes a node of a service, and last the affiliation by which it is found. The node itself is removed at the end, since its name
  /// can be used for another node as soon as it is removed.
  private func eraseService(of user: UserID, _ limit: Int, _ place: inout ErasurePlace) throws -> Int {
    let found = try connection(.solelyOwned, user).first {
      (owner: UserID($0.int(0)), node: $0.text(1), address: $0.text(2))
    }
    guard let found else {
      place.advance()
      return 0
    }
    var used = 1
    for (query, weight) in [
      (Query.eraseItemsOfNode, ErasureStep.large), (Query.eraseSubscribersOfNode, 1), (Query.eraseAffiliatesOfNode, 1),
    ] {
      let most = max(1, (limit - used) / weight)
      let statement = try connection(query, found.owner, found.node, found.address, most)
      try statement.run()
      used += Int(statement.changes) * weight
      if Int(statement.changes) == most { return used }
    }
    try removeNode(found.node, of: found.owner)
    return used
  }

  private func erase(
    _ rows: Query, _ removal: Query, of user: UserID, _ limit: Int, _ place: inout ErasurePlace
  ) throws -> Int {
    let found = try connection(rows, place.first, limit).all { (id: $0.int(0), user: $0.int(1)) }
    return try look(at: found, limit, &place) { row, place in
      place.first = row.id
      guard row.user == user.number else { return 0 }
      try connection(removal, row.id).run()
      return ErasureStep.large
    }
  }

  /// Visits the rows of a step until the limit is reached; otherwise ends the step. `remove` stores the place behind a row, and returns
  /// the number of rows that count for its removal in addition to the visit.
  private func look<Row>(
    at rows: [Row], _ limit: Int, _ place: inout ErasurePlace, remove: (Row, inout ErasurePlace) throws -> Int
  ) throws -> Int {
    var used = 0
    for row in rows {
      used += try 1 + remove(row, &place)
      if used >= limit { return used }
    }
    place.advance()
    return used
  }

  private func eraseOutbox(
    of user: UserID, _ limit: Int, _ place: inout ErasurePlace, _ piece: inout ErasedPiece
  ) throws -> Int {
    let rows = try outbox(after: (place.first, place.second), limit: limit)
    return try look(at: rows, limit, &place) { row, place in
      (place.first, place.second) = (row.pair, row.position)
      // Rows that end the user's subscriptions are kept, to be sent.
      guard row.author == user.number, row.isEntry else { return 0 }
      try removeOutbox(at: row.position, pair: row.pair)
      piece.outboxRows[row.pair, default: 0] += 1
      return 0
    }
  }

  // MARK: Notifications

  // The backends' notifications to a user are in no feed: each is found by an id in the user's `self` dialog, among those of the
  // messages there.

  private func ownDialog(of user: UserID) throws -> Int64? { try connection(.ownDialog, user).first { $0.int(0) } }

  private func eraseFreshNotifications(to user: UserID, _ limit: Int, _ place: inout ErasurePlace) throws -> Int {
    guard let dialog = try ownDialog(of: user) else {
      place.advance()
      return 0
    }
    let positions = origins.positions(in: dialog, behind: place.first, limit: limit)
    return try look(at: positions, limit, &place) { position, place in
      place.first = position
      guard try connection(.isNotification, position, dialog).first({ _ in true }) == true else { return 0 }
      try erase(Position(position), in: DialogID(dialog))
      return ErasureStep.several
    }
  }

  private func eraseNotifications(to user: UserID, _ limit: Int, _ place: inout ErasurePlace) throws -> Int {
    guard let dialog = try ownDialog(of: user) else {
      place.advance()
      return 0
    }
    let rows = try connection(.originsInOwnDialog, dialog, place.first, place.second, limit).all {
      (hash: $0.int(0), position: $0.int(1), isNotification: $0.int(2) == 1)
    }
    return try look(at: rows, limit, &place) { row, place in
      (place.first, place.second) = (row.hash, row.position)
      guard row.isNotification else { return 0 }
      try erase(Position(row.position), in: DialogID(dialog))
      return ErasureStep.several
    }
  }

  // MARK: Files and marks

  /// Sets the expiry of the files of purpose `profile` and of awaited ones, or of all, to the past.
  private func endFiles(of user: UserID, all: Bool, _ limit: Int, _ place: inout ErasurePlace) throws -> Int {
    if place.first == .min { try connection(.endUnstoredFiles, user, all).run() }
    let last = try connection(.fileBehind, user, place.first, limit - 1).first { $0.int(0) }
    try connection(.endFiles, user, place.first, last ?? .max, all).run()
    guard let last else {
      place.advance()
      return limit / 2
    }
    place.first = last
    return limit
  }

  /// Bans are kept: they belong to the rooms, and contain only the user's number.
  private func eraseMarks(
    of user: UserID, _ limit: Int, _ place: inout ErasurePlace, _ piece: inout ErasedPiece
  ) throws -> Int {
    let rows = try connection(.marksBehind, user, place.first, limit).all {
      (dialog: DialogID($0.int(0)), isRoom: $0.int(1) == 1, hasSettings: $0.int(2) == 1)
    }
    return try look(at: rows, limit, &place) { row, place in
      place.first = row.dialog.number
      if row.isRoom {
        try connection(.endMembership, user, row.dialog).run()
        try connection(.eraseMark, user, row.dialog).run()
        piece.rooms.append(row.dialog)
        return ErasureStep.several
      }
      if row.hasSettings { try connection(.forgetSettings, user, row.dialog).run() }
      return 0
    }
  }
}

extension Query {
  /// Returns the removal of rows of a table that has this key besides the user.
  private static func rows(of table: String, by user: String = "user", key: String) -> Query {
    Query(
      """
      DELETE FROM \(table) WHERE \(user) = ?1
        AND \(key) IN (SELECT \(key) FROM \(table) WHERE \(user) = ?1 LIMIT ?2)
      """)
  }
  /// Returns the removal of rows of a table with a number for each row.
  private static func rows(of table: String, by user: String = "user", id: String) -> Query {
    Query("DELETE FROM \(table) WHERE \(id) IN (SELECT \(id) FROM \(table) WHERE \(user) = ?1 LIMIT ?2)")
  }

  fileprivate static let eraseNodes = rows(of: "nodes", key: "node")
  fileprivate static let eraseItems = rows(of: "items", id: "id")
  fileprivate static let eraseContacts = rows(of: "contacts", by: "owner", key: "address")
  fileprivate static let eraseBlocks = rows(of: "blocks", by: "owner", key: "rank")
  fileprivate static let eraseValues = rows(of: "vault", id: "id")
  fileprivate static let eraseDrafts = rows(of: "drafts", key: "dialog")
  fileprivate static let eraseStars = rows(of: "stars", key: "position")
  fileprivate static let eraseHidden = rows(of: "hidden", key: "position")
  fileprivate static let eraseCleared = rows(of: "cleared_rooms", key: "dialog")
  fileprivate static let eraseScheduled = rows(of: "scheduled", key: "id")
  fileprivate static let eraseOwedPushes = rows(of: "pushes_owed", key: "position")
  fileprivate static let eraseCallsBy = rows(of: "calls", by: "caller", id: "position")
  fileprivate static let eraseCallsTo = rows(of: "calls", by: "callee", id: "position")
  fileprivate static let eraseMentions = Query(
    """
    DELETE FROM mentions WHERE (dialog, ordinal, user) IN
      (SELECT dialog, ordinal, user FROM mentions WHERE user = ?1 LIMIT ?2)
    """)
  /// A user has few registrations (`Limits.pushRegistrationsMax`).
  fileprivate static let eraseRegistrations = Query("DELETE FROM push_registrations WHERE user = ?1 AND ?2 > 0")
  fileprivate static let forgetLastLogin = Query(
    "UPDATE users SET last_login = NULL WHERE id = ?1 AND last_login IS NOT NULL AND ?2 > 0")

  private static let address = """
    (SELECT iif(r.domain LIKE '@%', u.name, u.name || '@' || r.domain)
      FROM users u JOIN realms r ON r.id = u.realm WHERE u.id = ?1)
    """
  fileprivate static let ownAffiliations = Query(
    "SELECT user, node, address FROM node_affiliations WHERE user = ?1 LIMIT ?2")
  fileprivate static let ownSubscriptions = Query(
    "SELECT user, node, jid FROM node_subscriptions WHERE user = ?1 LIMIT ?2")
  fileprivate static let affiliationsElsewhere = Query(
    "SELECT user, node, address FROM node_affiliations WHERE address = \(address) LIMIT ?2")
  fileprivate static let subscriptionsElsewhere = Query(
    "SELECT user, node, jid FROM node_subscriptions WHERE address = \(address) LIMIT ?2")
  fileprivate static let created = Query("SELECT user, node, creator FROM nodes WHERE creator = \(address) LIMIT ?2")
  fileprivate static let eraseAffiliation = Query(
    "DELETE FROM node_affiliations WHERE user = ?1 AND node = ?2 AND address = ?3")
  fileprivate static let eraseSubscription = Query(
    "DELETE FROM node_subscriptions WHERE user = ?1 AND node = ?2 AND jid = ?3")
  fileprivate static let forgetCreator = Query(
    "UPDATE nodes SET creator = NULL WHERE user = ?1 AND node = ?2 AND creator = ?3")

  fileprivate static let solelyOwned = Query(
    """
    SELECT a.user, a.node, a.address FROM node_affiliations a
    WHERE a.address = \(address) AND a.affiliation = 4 AND NOT EXISTS (
      SELECT 1 FROM node_affiliations b
      WHERE b.user = a.user AND b.node = a.node AND b.affiliation = 4 AND b.address <> a.address)
    LIMIT 1
    """)
  fileprivate static let eraseItemsOfNode = Query(
    "DELETE FROM items WHERE id IN (SELECT id FROM items WHERE user = ?1 AND node = ?2 AND ?3 <> '' LIMIT ?4)")
  fileprivate static let eraseSubscribersOfNode = Query(
    """
    DELETE FROM node_subscriptions WHERE user = ?1 AND node = ?2
      AND jid IN (SELECT jid FROM node_subscriptions WHERE user = ?1 AND node = ?2 AND ?3 <> '' LIMIT ?4)
    """)
  fileprivate static let eraseAffiliatesOfNode = Query(
    """
    DELETE FROM node_affiliations WHERE user = ?1 AND node = ?2
      AND address IN (SELECT address FROM node_affiliations WHERE user = ?1 AND node = ?2 AND address <> ?3 LIMIT ?4)
    """)

  fileprivate static let suspendedBehind = Query("SELECT id, user FROM suspended WHERE id > ?1 ORDER BY id LIMIT ?2")
  fileprivate static let eraseSuspended = Query("DELETE FROM suspended WHERE id = ?1")
  fileprivate static let stanzasBehind = Query(
    "SELECT id, user FROM suspended_stanzas WHERE id > ?1 ORDER BY id LIMIT ?2")
  fileprivate static let eraseStanzas = Query("DELETE FROM suspended_stanzas WHERE id = ?1")

  /// The condition on the kind is that of the index, so that the engine uses it.
  fileprivate static let ownDialog = Query("SELECT id FROM dialogs WHERE first = ?1 AND second = ?1 AND kind < 2")
  fileprivate static let isNotification = Query(
    "SELECT 1 FROM payloads WHERE position = ?1 AND dialog = ?2 AND kind = \(Fact.Kind.notification.rawValue)")
  fileprivate static let originsInOwnDialog = Query(
    """
    SELECT o.hash, o.position, coalesce(p.kind = \(Fact.Kind.notification.rawValue), 0)
    FROM origins o LEFT JOIN payloads p ON p.position = o.position AND p.dialog = o.dialog
    WHERE o.dialog = ?1 AND (o.hash, o.position) > (?2, ?3) ORDER BY o.hash, o.position LIMIT ?4
    """)

  /// The numbers are `Blob.State.awaited` and `.refused`, and `Blob.Purpose.profile`.
  fileprivate static let endUnstoredFiles = Query(
    """
    UPDATE blobs SET expires = 0, state = 1
    WHERE owner = ?1 AND state IN (0, 3) AND (?2 OR state = 0 OR purpose = 1)
    """)
  fileprivate static let fileBehind = Query(
    "SELECT created FROM blobs WHERE owner = ?1 AND state = 1 AND created > ?2 ORDER BY created LIMIT 1 OFFSET ?3")
  fileprivate static let endFiles = Query(
    """
    UPDATE blobs SET expires = 0
    WHERE owner = ?1 AND state = 1 AND created > ?2 AND created <= ?3 AND (?4 OR purpose = 1)
    """)

  fileprivate static let marksBehind = Query(
    """
    SELECT m.dialog, coalesce(d.kind = \(Reader.roomKind) OR d.kind >= \(Reader.endingKind), 0), m.settings IS NOT NULL
    FROM members m LEFT JOIN dialogs d ON d.id = m.dialog
    WHERE m.user = ?1 AND m.dialog > ?2 ORDER BY m.dialog LIMIT ?3
    """)
  fileprivate static let endMembership = Query(
    """
    UPDATE affiliations SET affiliation = \(Affiliation.none.rawValue), nick = NULL, nick_key = NULL,
      nick_registered = 0
    WHERE user = ?1 AND room = ?2
    """)
  fileprivate static let eraseMark = Query("DELETE FROM members WHERE user = ?1 AND dialog = ?2")
  fileprivate static let forgetSettings = Query(
    "UPDATE members SET settings = NULL, retention_days = NULL WHERE user = ?1 AND dialog = ?2")
}
