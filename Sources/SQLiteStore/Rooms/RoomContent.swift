import Basics
import Dialogs

/// The removal of the content of a room that has ended; for a persistent room only of its values. Each piece is a transaction:
/// `rooms.temporary`, which the end of a persistent room sets as well, stays set until the last one, so that an interrupted
/// removal is found again. Persistent rooms that earlier versions have destroyed keep their values: finding these would take
/// reading every room, and their number does not grow.
extension Writer {
  func removeContent(of room: DialogID, limit: Int, endingFiles time: Timestamp) throws -> Bool {
    guard let settings = try self.room(room)?.settings else { return false }
    for query in [Query.deleteValuesOfRoom, .deleteClearedOfRoom] {
      let statement = try connection(query, room, bound(limit))
      try statement.run()
      if Int64(statement.changes) >= bound(limit) { return true }
    }
    if settings.isPersistent {
      try connection(.endValues, room).run()
      return false
    }
    let rows = try connection(.contentOfRoom, room, bound(limit)).all {
      (position: Position($0.int(0)), kind: $0.int(1))
    }
    for (position, kind) in rows {
      if kind == Int64(Fact.Kind.room.rawValue) { try removeFeed(ofChangeAt: position, in: room) }
      try removeTraces(of: position, in: room, endingFiles: time)
      for query in [Query.deleteStarsOfEntry, .deleteHiddenEntry] { try connection(query, position).run() }
      _ = try remove(position, in: room)
      try connection(.deleteEntry, room, position).run()
    }
    if rows.count == Int(bound(limit)) { return true }
    for query in [Query.deleteMentionsInRoom, .deleteRetractedInRoom, .deleteInvitationsToRoom] {
      let statement = try connection(query, room, bound(limit))
      try statement.run()
      if Int64(statement.changes) >= bound(limit) { return true }
    }
    // The people are removed last, since their drafts are found by them.
    let people = try connection(.peopleOfRoom, room, bound(limit)).all { UserID($0.int(0)) }
    for person in people {
      for query in [Query.deleteDraftInRoom, .deletePersonOfRoom] { try connection(query, room, person).run() }
    }
    if people.count == Int(bound(limit)) { return true }
    try connection(.deletePinsInRoom, room).run()
    var rest = RoomSettings.instant
    rest.showsAddresses = settings.showsAddresses
    try connection(.endContent, room, FactCoding.encode(settings: rest)).run()
    return false
  }

  /// Removes the entry of a joining or leaving member from their feed. Apart from the last entry, only these entries of a
  /// room are in feeds.
  func removeFeed(ofChangeAt position: Position, in room: DialogID) throws {
    guard case .room(let change)? = try entry(position, in: .server(room, .rules))?.fact,
      case .member(let member) = change.change
    else { return }
    try connection(.deleteFeed, member.party.id, position).run()
  }

  func removeTraces(of position: Position, in room: DialogID, endingFiles time: Timestamp?) throws {
    let author = try connection(.authorOfEntry, position).first { UserID($0.int(0)) }
    if let author { try releaseBlobs(of: position, by: author, ending: time) }
    try connection(.deleteChangesOfEntry, position).run()
  }
}

extension Query {
  /// It does not remove the last entry.
  fileprivate static let contentOfRoom = Query(
    """
    SELECT e.position, coalesce(p.kind, 0) FROM dialogs d CROSS JOIN entries e ON e.dialog = d.id
    LEFT JOIN payloads p ON p.position = e.position
    WHERE d.id = ?1 AND e.position < d.last ORDER BY e.position LIMIT ?2
    """)
  fileprivate static let authorOfEntry = Query("SELECT author FROM payloads WHERE position = ?1")
  fileprivate static let deleteChangesOfEntry = Query("DELETE FROM changes WHERE target = ?1")
  fileprivate static let deleteStarsOfEntry = Query("DELETE FROM stars WHERE position = ?1")
  fileprivate static let deleteHiddenEntry = Query("DELETE FROM hidden WHERE position = ?1")
  fileprivate static let deletePinsInRoom = Query("DELETE FROM pins WHERE dialog = ?1")
  fileprivate static let deleteMentionsInRoom = Query(
    """
    DELETE FROM mentions WHERE dialog = ?1
      AND ordinal IN (SELECT ordinal FROM mentions WHERE dialog = ?1 LIMIT ?2)
    """)
  fileprivate static let deleteRetractedInRoom = Query(
    """
    DELETE FROM retracted WHERE dialog = ?1
      AND ordinal IN (SELECT ordinal FROM retracted WHERE dialog = ?1 LIMIT ?2)
    """)
  fileprivate static let deleteInvitationsToRoom = Query(
    """
    DELETE FROM invitations WHERE (room, user, inviter) IN
      (SELECT room, user, inviter FROM invitations WHERE room = ?1 LIMIT ?2)
    """)
  fileprivate static let deleteValuesOfRoom = Query(
    "DELETE FROM room_vault WHERE id IN (SELECT id FROM room_vault WHERE room = ?1 LIMIT ?2)")
  fileprivate static let deleteClearedOfRoom = Query(
    """
    DELETE FROM cleared_rooms WHERE dialog = ?1
      AND user IN (SELECT user FROM cleared_rooms WHERE dialog = ?1 LIMIT ?2)
    """)
  fileprivate static let endValues = Query("UPDATE rooms SET temporary = 0 WHERE dialog = ?1")
  fileprivate static let peopleOfRoom = Query("SELECT user FROM affiliations WHERE room = ?1 LIMIT ?2")
  fileprivate static let deleteDraftInRoom = Query("DELETE FROM drafts WHERE dialog = ?1 AND user = ?2")
  fileprivate static let deletePersonOfRoom = Query("DELETE FROM affiliations WHERE room = ?1 AND user = ?2")
  fileprivate static let endContent = Query(
    """
    UPDATE rooms SET temporary = 0, settings = ?2, retention_days = NULL, folded_name = NULL, topic = NULL,
      topic_nick = NULL, topic_time = NULL
    WHERE dialog = ?1
    """)
}
