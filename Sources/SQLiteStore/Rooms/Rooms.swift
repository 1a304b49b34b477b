import Addresses
import Basics
import Dialogs

/// The rooms, their members, and the entries that members follow.
extension Reader {
  func room(_ id: DialogID) throws -> Room? {
    try connection(.room, id).first { try room($0) }
  }

  func room(at address: BareJID) throws -> Room? {
    guard let local = address.local else { return nil }
    return try connection(.roomByAddress, address.domain, local).first { try room($0) }
  }

  func room(externalID: ExternalID, in realm: RealmID) throws -> Room? {
    switch externalID {
    case .backend(let id): return try connection(.roomByExternalID, realm, id).first { try room($0) }
    case .user(let user, let id): return try connection(.roomByUserExternalID, user, id).first { try room($0) }
    }
  }

  func rooms(
    in realm: RealmID, listed: Bool, matching: String?, after: String?, through: String?, limit: Int
  ) throws -> [Room] {
    try connection(
      listed ? .listedRooms : .realmRooms, realm, after ?? "", matching?.lowercased(), bound(limit),
      through ?? Self.lastName
    ).all { try room($0) }
  }

  func listedRoomsEnd(in realm: RealmID, after: String?, count: Int) throws -> String? {
    try connection(.listedRoomsEnd, realm, after ?? "", Int64(count - 1)).first { $0.text(0) }
  }

  func temporaryRooms(after: DialogID, limit: Int) throws -> [Room] {
    try connection(.temporaryRooms, after, bound(limit)).all { try room($0) }
  }

  /// The value of `rooms.destroyed` for a destroyed room whose address is free; 1 is for one that keeps it.
  static let released: Int64 = 2

  private func room(_ row: Prepared) throws -> Room {
    var topic: Topic?
    if let time = row.intOrNil(6) {
      topic = Topic(text: row.text(4), nick: row.textOrNil(5), time: Timestamp(milliseconds: time))
    }
    return Room(
      name: try known(DialogID(row.int(0))), externalID: row.textOrNil(1),
      creator: row.intOrNil(13).map { UserID($0) }, userExternalID: row.textOrNil(14),
      createdAt: Timestamp(milliseconds: row.int(2)), settings: try FactCoding.decode(settings: row.bytes(3)),
      topic: topic, sequence: row.int(7), ordinal: row.int(8), last: Position(row.int(9)),
      shown: Position(row.int(15)), memberCount: Int(row.int(10)), version: Position(row.int(11)),
      isDestroyed: row.int(12) != 0,
      isAddressFree: row.int(12) == Self.released, isEnding: row.int(16) >= Self.endingKind,
      isAbandoned: row.int(16) == Self.abandonedKind)
  }

  // MARK: Members

  /// Returns a member; `nil` for a former member, who also has a row.
  func member(_ user: UserID, of access: MemberAccess) throws -> Member? {
    let found = try connection(.member, access.room, user).first {
      try member($0, from: 0)
    }
    return found.flatMap { access.among.contains($0.affiliation) ? $0 : nil }
  }

  func member(nickKey key: String, of access: MemberAccess) throws -> Member? {
    let found = try connection(.memberByNick, access.room, key).first { try member($0, from: 0) }
    return found.flatMap { access.among.contains($0.affiliation) ? $0 : nil }
  }

  func members(of access: MemberAccess, after: UserID?, limit: Int) throws -> [Member] {
    let bits = access.among.reduce(into: 0 as Int64) { $0 |= 1 << Int64($1.rawValue) }
    return try connection(.membersOf, access.room, after?.number ?? 0, bits, bound(limit)).all {
      try member($0, from: 0)
    }
  }

  /// Returns changed members in the order of versions and user numbers; a page may end within a version.
  func memberChanges(of room: DialogID, for _: ServerReason, after: Position, limit: Int) throws -> [Member] {
    try connection(.memberChanges, room, after, bound(limit))
      .all { try member($0, from: 0) }
  }

  private func member(_ row: Prepared, from column: Int32) throws -> Member {
    Member(
      room: DialogID(row.int(column)), party: try known(UserID(row.int(column + 1))),
      affiliation: try FactCoding.affiliation(row.int(column + 2)), nick: row.textOrNil(column + 3),
      isNickRegistered: row.int(column + 9) != 0,
      since: Position(row.int(column + 4)), joinedAt: Timestamp(milliseconds: row.int(column + 5)),
      version: Position(row.int(column + 6)), reason: row.textOrNil(column + 7), isKicked: row.int(column + 8) != 0)
  }

  func memberships(of user: UserID) throws -> [(room: RoomName, since: Position, affiliation: Affiliation)] {
    try connection(.memberships, user).all { row in
      (
        room: try known(DialogID(row.int(0))), since: Position(row.int(1)),
        affiliation: try FactCoding.affiliation(row.int(2))
      )
    }
  }

  func memberships(of user: UserID, listing other: UserID) throws -> [DialogID] {
    try connection(.membershipsListing, user, other).all { DialogID($0.int(0)) }
  }

  func membershipCount(of user: UserID) throws -> Int {
    try Int(connection(.membershipCount, user).first { $0.int(0) } ?? 0)
  }

  func membershipCount(of user: UserID, invitedBy inviter: UserID?) throws -> Int {
    try Int(connection(.invitedCount, user, inviter).first { $0.int(0) } ?? 0)
  }

  func rooms(of log: LogAccess, before: Position, limit: Int) throws -> [RoomView] {
    let user = log.user
    // The list is read first, as in `dialogs(of:before:limit:)`.
    let found = try connection(.roomsOf, user, before, bound(limit)).all {
      (
        room: try room($0), member: try member($0, from: 17), mark: mark($0, from: 27, user),
        settings: try Self.settings($0, 36)
      )
    }
    return try found.map { room, member, mark, settings in
      RoomView(
        room: room, member: member, mark: mark, settings: settings,
        lastMessage: try last(of: room.messages(for: member), shown: room.shown))
    }
  }

  // MARK: The feed

  /// A source of merged rows: a user's feed, or a room.
  private struct Source {
    /// The room; `nil` for the feed.
    let room: DialogID?
    /// The position before which it has no further rows.
    var next: Int64
  }

  /// Merges the rows of the feed and of rooms in the order of positions. First the next row of each room is found; then only as many
  /// rows are read as are returned, and those that are omitted between them.
  func feed(of log: LogAccess, after: Position, limit: Int, looksMax: Int, all: Bool) throws -> FeedPlaces {
    let limit = Int(max(1, bound(limit)))
    var sources = try rooms(of: log, after: after, limit: limit + 1)
    // Rooms whose next entry is behind those of so many others cannot be in the result.
    var through = Int64.max
    if sources.count > limit {
      through = sources[limit].next - 1
      sources.removeSubrange(limit...)
    }
    // The first source is the last element, where removing it costs nothing.
    sources.reverse()
    // A session that follows nothing is at the end of all positions, behind which there are no rows.
    if after < .end { Self.insert(Source(room: nil, next: after.number + 1), into: &sources) }
    var (places, looks): ([FeedPlaces.Place], Int) = ([], looksMax)
    var end = through == .max ? nil : through
    while let source = sources.popLast() {
      if source.next > through { break }
      if places.count >= limit || looks <= 0 && source.next - 1 > after.number {
        end = max(source.next - 1, places.last?.position.number ?? 0)
        break
      }
      // A room is read up to the feed's next row, which precedes a room's row of the same entry.
      var last = min(through, sources.last?.next ?? .max)
      if let following = sources.last, following.room == nil { last = min(last, following.next - 1) }
      let (rowsMax, before) = (max(1, looks), looks)
      try rows(of: source, log, all).forEachWhile { row in
        let position = row.int(0)
        if position > last {
          Self.insert(Source(room: source.room, next: position), into: &sources)
          return false
        }
        looks -= 1
        if row.int(1) == 0, places.last?.position.number != position {
          places.append(FeedPlaces.Place(Position(position), in: source.room))
        }
        if places.count < limit, before - looks < rowsMax { return true }
        Self.insert(Source(room: source.room, next: position + 1), into: &sources)
        return false
      }
      looks -= StoreLimits.feedStatementRows
    }
    if let end { return FeedPlaces(of: log, after: after, places, end: Position(end), isLast: false) }
    return FeedPlaces(of: log, after: after, places, end: max(after, try head().position), isLast: true)
  }

  /// Returns the rooms of a log that have entries behind a position, with the first such entry, in the order of these entries; at
  /// most `limit` of the user's rooms.
  private func rooms(of log: LogAccess, after: Position, limit: Int) throws -> [Source] {
    var found: [Source] = []
    if log.hasMemberships {
      found = try connection(.nextInMemberships, log.user, after, limit).all {
        Source(room: DialogID($0.int(0)), next: $0.int(1))
      }
    }
    for followed in log.rooms {
      let next = try connection(.nextInRoom, followed.room, max(after, followed.since)).first { $0.int(0) }
      if let next { found.append(Source(room: followed.room, next: next)) }
    }
    var seen: Set<DialogID?> = []
    return found.sorted { $0.next < $1.next }.filter { seen.insert($0.room).inserted }
  }

  /// Returns the statement of a source's rows, with a number other than 0 for omitted rows.
  private func rows(of source: Source, _ log: LogAccess, _ all: Bool) throws -> Prepared {
    guard let room = source.room else {
      let leftOut = all ? 0 : Int64(FeedRow.Traits.unfollowed.rawValue)
      return try connection(.feedRows, log.user, source.next, leftOut)
    }
    return try connection(.roomRows, room, source.next)
  }

  /// Inserts a source into a list in descending order of `next`. The feed is placed after a room with the same value, so that its row
  /// is taken first.
  private static func insert(_ source: Source, into sources: inout [Source]) {
    var (low, high) = (0, sources.count)
    while low < high {
      let middle = (low + high) / 2
      let next = sources[middle].next
      if next > source.next || next == source.next && source.room == nil { low = middle + 1 } else { high = middle }
    }
    sources.insert(source, at: low)
  }

  func entries(
    of log: LogAccess, at places: ArraySlice<FeedPlaces.Place>, limit: Int, bytesMax: Int
  ) throws -> [Entry] {
    let member: UserID? = log.hasMemberships ? log.user : nil
    var (entries, bytes): ([Entry], Int) = ([], 0)
    for place in places where entries.count < limit {
      let statement =
        if let room = place.room {
          try connection(.entryInRoom, place.position, room, member)
        } else {
          try connection(.entryInFeed, place.position, log.user)
        }
      var next = try statement.first { try entry($0) }
      // Once the membership has ended, the room's last entry is in the feed.
      if next == nil, place.room != nil, member != nil {
        next = try connection(.entryInFeed, place.position, log.user).first { try entry($0) }
      }
      guard let next else { continue }
      entries.append(next)
      if bytes >= bytesMax { break }
      bytes += next.byteCount
    }
    return entries
  }
}

extension Writer {
  func insertRoom(
    localpart: String, in realm: RealmID, externalID: ExternalID?, settings: RoomSettings, createdAt: Timestamp
  ) throws -> Room {
    let (backendsID, creator, creatorsID): (String?, UserID?, String?) =
      switch externalID {
      case .backend(let id)?: (id, nil, nil)
      case .user(let user, let id)?: (nil, user, id)
      case nil: (nil, nil, nil)
      }
    // Checked before anything is written, since a refusal does not end the transaction.
    let isTaken = try connection(.takenRoom, realm, localpart, backendsID, creator, creatorsID)
      .first { $0.int(0) != 0 }
    if isTaken == true { throw StoreConflict() }
    let id = try connection(.insertRoomDialog, Self.roomKind, createdAt)
      .first { DialogID($0.int(0)) }
    guard let id else { throw StoreFailure.corrupt("a new room got no number") }
    try connection(
      .insertRoom, id, realm, localpart, backendsID, FactCoding.encode(settings: settings), settings.name?.lowercased()
    ).bind(settings.isListed, settings.lifetime == .temporary, settings.retentionDays.map { Int64($0) })
      .bind(creator, creatorsID).run()
    return Room(
      name: try known(id), externalID: backendsID, creator: creator, userExternalID: creatorsID, createdAt: createdAt,
      settings: settings)
  }

  func updateCounters(of room: Room) throws {
    try connection(.updateDialog, room.id, room.sequence, room.ordinal, room.last, room.shown).run()
  }

  func update(_ room: Room) throws {
    try connection(
      .updateRoom, room.id, FactCoding.encode(settings: room.settings), room.settings.name?.lowercased(),
      room.settings.isListed, room.topic?.text, room.topic?.nick
    ).bind(
      room.topic?.time, room.memberCount, room.version,
      room.isAddressFree ? Self.released : room.isDestroyed ? 1 : 0
    ).bind(room.settings.lifetime == .temporary, room.settings.retentionDays.map { Int64($0) }).run()
    if room.isDestroyed {
      let ending = room.isAbandoned ? Self.abandonedKind : Self.endingKind
      try connection(.setKind, room.id, room.isEnding ? ending : Self.roomKind).run()
    }
  }

  func endMembers(_ users: [UserID], of room: DialogID, feeds: [FeedRow], at end: Position) throws {
    let isTemporary = try self.room(room)?.settings.lifetime == .temporary
    for user in users {
      // The marker's entry can be found only by the mark.
      if isTemporary, let marker = try connection(.markerInRoom, user, room).first({ Position($0.int(0)) }),
        try remove(marker, in: room)
      {
        try connection(.deleteEntry, room, marker).run()
      }
      try connection(.deleteRoomMark, user, room).run()
    }
    for row in feeds { try connection(.putFeed, row.user, end, row.traits.rawValue).run() }
  }

  /// Stores a member. Throws `StoreConflict` if another member has the nick.
  func put(_ member: Member, ordinal: Int64) throws {
    try check(stored: member.party.id)
    let nick = member.affiliation.isMember ? member.nick : nil
    // A nick without a key equals only itself.
    let key = nick.map { (try? Precis.nicknameKey($0)) ?? $0 }
    if let key, let holder = try self.member(nickKey: key, of: .server(member.room, .rules)),
      holder.party.id != member.party.id
    {
      throw StoreConflict()
    }
    try connection(.putMember, member.room, member.party.id, member.affiliation.rawValue, nick, key, member.since).bind(
      member.joinedAt, member.version, member.reason, member.isKicked, nick != nil && member.isNickRegistered
    ).run()
    if member.affiliation.isMember {
      try connection(.insertRoomMark, member.party.id, member.room, ordinal).run()
    } else {
      try connection(.keepCleared, member.party.id, member.room).run()
      try connection(.deleteRoomMark, member.party.id, member.room).run()
      try put(nil, of: member.party.id, in: member.room)
    }
  }
}

extension Query {
  private static let columns = """
    d.id, r.external_id, d.created, r.settings, r.topic, r.topic_nick, r.topic_time, d.sequence, d.ordinal, d.last,
    r.member_count, r.version, r.destroyed, r.creator, r.user_external_id, d.shown, d.kind
    """
  private static let memberColumns =
    "a.room, a.user, a.affiliation, a.nick, a.since, a.joined, a.version, a.reason, a.kicked, a.nick_registered"

  fileprivate static let room = Query(
    "SELECT \(columns) FROM rooms r CROSS JOIN dialogs d ON d.id = r.dialog WHERE r.dialog = ?1")
  fileprivate static let roomByAddress = Query(
    """
    SELECT \(columns) FROM realms m CROSS JOIN rooms r ON r.realm = m.id CROSS JOIN dialogs d ON d.id = r.dialog
    WHERE m.rooms = ?1 AND r.localpart = ?2 AND r.destroyed < 2
    """)
  fileprivate static let roomByExternalID = Query(
    """
    SELECT \(columns) FROM rooms r CROSS JOIN dialogs d ON d.id = r.dialog WHERE r.realm = ?1 AND r.external_id = ?2
    """)
  fileprivate static let roomByUserExternalID = Query(
    """
    SELECT \(columns) FROM rooms r CROSS JOIN dialogs d ON d.id = r.dialog
    WHERE r.creator = ?1 AND r.user_external_id = ?2
    """)
  fileprivate static let temporaryRooms = Query(
    """
    SELECT \(columns) FROM rooms r CROSS JOIN dialogs d ON d.id = r.dialog
    WHERE r.temporary = 1 AND r.dialog > ?1 ORDER BY r.dialog LIMIT ?2
    """)
  /// A search reads each room of a range of localparts, or each listed one. `destroyed < 2` is the condition of the index, which the
  /// engine uses only if the query repeats it.
  private static func rooms(by index: String, where condition: String) -> Query {
    Query(
      """
      SELECT \(columns) FROM rooms r INDEXED BY \(index) CROSS JOIN dialogs d ON d.id = r.dialog
      WHERE r.realm = ?1 AND r.localpart > ?2 AND r.localpart <= ?5 AND r.destroyed < 2 AND r.destroyed = 0
        AND \(condition)
        AND (?3 IS NULL OR substr(r.localpart, 1, length(?3)) = ?3 OR instr(r.folded_name, ?3) > 0)
      ORDER BY r.localpart LIMIT ?4
      """)
  }
  fileprivate static let realmRooms = rooms(by: "rooms_localpart", where: "TRUE")
  static let listedRooms = rooms(by: "rooms_listed", where: "r.listed = 1")
  static let listedRoomsEnd = Query(
    """
    SELECT localpart FROM rooms INDEXED BY rooms_listed
    WHERE realm = ?1 AND localpart > ?2 AND listed = 1 AND destroyed = 0 ORDER BY localpart LIMIT 1 OFFSET ?3
    """)

  fileprivate static let takenRoom = Query(
    """
    SELECT EXISTS (SELECT 1 FROM rooms WHERE realm = ?1 AND localpart = ?2 AND destroyed < 2)
      OR EXISTS (SELECT 1 FROM rooms WHERE realm = ?1 AND external_id = ?3)
      OR EXISTS (SELECT 1 FROM rooms WHERE creator = ?4 AND user_external_id = ?5)
    """)
  fileprivate static let insertRoomDialog = Query(
    """
    INSERT INTO dialogs (kind, first, second, sequence, ordinal, first_own, second_own, last, created)
    VALUES (?1, 0, 0, 0, 0, 0, 0, 0, ?2) RETURNING id
    """)
  fileprivate static let insertRoom = Query(
    """
    INSERT INTO rooms (dialog, realm, localpart, external_id, settings, folded_name, listed, member_count, version,
      destroyed, temporary, retention_days, creator, user_external_id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, ?8, ?9, ?10, ?11)
    """)
  /// It does not change `temporary` of a room that has ended, by which the removal of its content (`removeContent`) finds the room; only
  /// that removal resets it.
  fileprivate static let updateRoom = Query(
    """
    UPDATE rooms SET settings = ?2, folded_name = ?3, listed = ?4, topic = ?5, topic_nick = ?6, topic_time = ?7,
      member_count = ?8, version = ?9, destroyed = ?10, retention_days = ?12,
      temporary = CASE WHEN destroyed > 0 THEN temporary WHEN ?10 = 0 THEN ?11 ELSE 1 END
    WHERE dialog = ?1
    """)

  fileprivate static let member = Query(
    """
    SELECT \(memberColumns) FROM affiliations a
    WHERE a.room = ?1 AND a.user = ?2 AND a.affiliation <> \(Affiliation.none.rawValue)
    """)
  fileprivate static let memberByNick = Query(
    "SELECT \(memberColumns) FROM affiliations a WHERE a.room = ?1 AND a.nick_key = ?2")
  fileprivate static let membersOf = Query(
    """
    SELECT \(memberColumns) FROM affiliations a WHERE a.room = ?1 AND a.user > ?2 AND (1 << a.affiliation) & ?3
    ORDER BY a.user LIMIT ?4
    """)
  fileprivate static let memberChanges = Query(
    """
    SELECT \(memberColumns) FROM affiliations a WHERE a.room = ?1 AND a.version > ?2
    ORDER BY a.version, a.user LIMIT ?3
    """)
  fileprivate static let memberships = Query(
    """
    SELECT m.dialog, a.since, a.affiliation FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
    WHERE m.user = ?1 ORDER BY m.dialog
    """)
  static let membershipsListing = Query(
    """
    SELECT m.dialog FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = ?2
    WHERE m.user = ?1 ORDER BY m.dialog
    """)
  fileprivate static let membershipCount = Query(
    """
    SELECT count(*) FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
    WHERE m.user = ?1
    """)
  fileprivate static let invitedCount = Query(
    """
    SELECT count(*) FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
    WHERE m.user = ?1 AND EXISTS (
      SELECT 1 FROM invitations i
      WHERE i.room = m.dialog AND i.user = m.user AND (?2 IS NULL OR i.inviter = ?2))
    """)
  /// It reads a row of each dialog of the user, as `dialogsOf`.
  fileprivate static let roomsOf = Query(
    """
    SELECT \(columns), \(memberColumns), \(markColumns), m.settings FROM (
      SELECT n.user AS user, n.dialog AS dialog, e.shown AS shown
      FROM members n CROSS JOIN dialogs e ON e.id = n.dialog
      WHERE n.user = ?1 AND e.shown < ?2 AND e.kind = \(Reader.roomKind) AND \(isListed("n", "e"))
      ORDER BY e.shown DESC LIMIT ?3
    ) l CROSS JOIN dialogs d ON d.id = l.dialog CROSS JOIN rooms r ON r.dialog = l.dialog
      CROSS JOIN affiliations a ON a.room = l.dialog AND a.user = l.user
      CROSS JOIN members m ON m.user = l.user AND m.dialog = l.dialog
    ORDER BY l.shown DESC
    """)
  fileprivate static let putMember = Query(
    """
    INSERT INTO affiliations (room, user, affiliation, nick, nick_key, since, joined, version, reason, kicked,
      nick_registered)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (room, user) DO UPDATE SET affiliation = ?3, nick = ?4, nick_key = ?5, since = ?6, joined = ?7,
      version = ?8, reason = ?9, kicked = ?10, nick_registered = ?11
    """)
  /// It does not replace an existing mark, and adds none for a destroyed room.
  fileprivate static let insertRoomMark = Query(
    """
    INSERT OR IGNORE INTO members
      (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position, own, cleared)
    SELECT ?1, dialog, 0, 0, ?3, 0, 0, 0,
      coalesce((SELECT c.position FROM cleared_rooms c WHERE c.user = ?1 AND c.dialog = ?2), 0)
    FROM rooms WHERE dialog = ?2 AND destroyed = 0
    """)
  fileprivate static let setKind = Query("UPDATE dialogs SET kind = ?2 WHERE id = ?1 AND kind <> ?2")
  fileprivate static let markerInRoom = Query(
    "SELECT position FROM members WHERE user = ?1 AND dialog = ?2 AND position > 0")
  fileprivate static let putFeed = Query("INSERT OR IGNORE INTO feed (user, position, traits) VALUES (?1, ?2, ?3)")
  fileprivate static let keepCleared = Query(
    """
    INSERT OR REPLACE INTO cleared_rooms (user, dialog, position)
    SELECT user, dialog, cleared FROM members WHERE user = ?1 AND dialog = ?2 AND cleared > 0
    """)
  fileprivate static let deleteRoomMark = Query("DELETE FROM members WHERE user = ?1 AND dialog = ?2")

  fileprivate static let feedRows = Query(
    "SELECT position, traits & ?3 FROM feed WHERE user = ?1 AND position >= ?2 ORDER BY position")
  fileprivate static let roomRows = Query(
    """
    SELECT position, flags & \(EntryFlags.erased.rawValue) FROM entries
    WHERE dialog = ?1 AND position >= ?2 ORDER BY position
    """)
  /// It reads one row if the room has nothing new.
  fileprivate static let nextInRoom = Query(
    """
    SELECT e.position FROM dialogs d CROSS JOIN entries e ON e.dialog = d.id
    WHERE d.id = ?1 AND d.last > ?2 AND e.position > ?2 ORDER BY e.position LIMIT 1
    """)
  /// It reads one row of each of the user's dialogs, and two more of each room with something new: 12 ms for 5,000 of these.
  fileprivate static let nextInMemberships = Query(
    """
    SELECT m.dialog, e.position FROM members m CROSS JOIN dialogs d ON d.id = m.dialog
      CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
      CROSS JOIN entries e ON e.dialog = m.dialog AND e.position = (
        SELECT b.position FROM entries b WHERE b.dialog = m.dialog AND b.position > max(?2, a.since)
        ORDER BY b.position LIMIT 1)
    WHERE m.user = ?1 AND d.last > ?2 ORDER BY e.position LIMIT ?3
    """)
  fileprivate static let entryInFeed = Query(
    """
    SELECT \(Reader.payloadColumns) FROM feed f CROSS JOIN payloads p ON p.position = f.position
    WHERE f.user = ?2 AND f.position = ?1
    """)
  /// `?3` is the user, if the room must be one of theirs.
  fileprivate static let entryInRoom = Query(
    """
    SELECT \(Reader.payloadColumns) FROM payloads p
    WHERE p.position = ?1 AND p.dialog = ?2 AND (?3 IS NULL OR EXISTS (
      SELECT 1 FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
      WHERE m.user = ?3 AND m.dialog = ?2 AND a.since < ?1))
    """)
}
