import Addresses
import Basics

// The end of rooms. Theory:
//
// A room ends when an owner destroys it (XEP-0045 10.9). A temporary one also ends when its last occupant leaves (7.14),
// in the post that removes that occupant: a user who enters by the next post finds no room, and makes one. Occupants are
// sessions, those that may still be resumed and members' app sessions included. As they are not stored, a start finds
// all temporary rooms empty.
//
//   persistent -destroyed-> ending -people leave piece by piece-> tombstone -made again-> name
//   temporary -destroyed, or empty-> ending -people leave piece by piece-> name with content -removed piece by piece-> name
//
// The first post closes the room: from then on nobody enters or says anything, no list shows it, and its followers are notified. A
// room may have ten thousand occupants and as many members, so they leave in pieces, the first of them in the same post: an occupant
// with a presence that says so, a member with the mark and the bookmark. A session of a member reads the last entry in the room until
// the mark is removed, and in the member's feed from then on: nobody misses it or gets it twice. Until all have left, nobody makes a
// room at the address, as the bookmarks name it.
//
// A further piece is a post of the server itself, which names its place. Of all rooms that end, a batch has so many rows
// (`Limits.endedRowsAtOnce`): whoever ends a hundred rooms at once holds up nobody. What a crash interrupts is begun again by
// the next start (`endEmpty`): then there are no occupants, and who has left already is passed over. The same continues what
// could not be committed (`FailedRoomEnds`).
//
// The values of a persistent room (`RoomKeyValue`: its picture, and bans of addresses) are removed piece by piece, too: nobody reads
// them any more, and whoever makes and destroys rooms all day would fill the disk with them. Its people and its log stay.
//
// A tombstone holds the address: clients that still know the room are told that it is gone, instead of meeting
// strangers. Its former owners may make the room again, so that a slip can be undone, and after `Limits.tombstoneTime`
// so may others. Of a temporary room nobody expects that, so its address is free as soon as all have left.
//
// The name, and the last entry, remain of every room: the feeds of former members tell their apps of the end, also those
// that were away.
extension Judge {
  // MARK: Destroying

  mutating func destroy(
    _ post: Post, _ reference: RoomReference, reason: String?, alternate: BareJID?, password: String?
  ) throws {
    if case .address(let address) = reference, let lease = rooms.leases[address], lease.party.id == post.author.id {
      giveUp(lease, of: address)
      return settle(post)
    }
    let state = try find(reference, for: post.author)
    guard try affiliation(of: post.author.id, in: state) == .owner else { throw Problem.notOwner }
    if let password, password.utf8.count > Limits.passwordBytesMax { throw Problem.passwordTooLong }
    let entry = try end(
      state, by: post.author, session(of: post), reason: Self.cut(reason),
      OccupantPresence.Destroyed(alternate: alternate, password: password))
    charge(rows: min(state.room.memberCount, Limits.chargedStanzasMax * Limits.rowsPerStanza))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    settle(post, receipt)
  }

  private mutating func end(
    _ state: RoomCache.State, by author: Party, _ session: SessionID? = nil, reason: String?, isAbandoned: Bool = false,
    _ destroyed: OccupantPresence.Destroyed = OccupantPresence.Destroyed(alternate: nil)
  ) throws -> Entry {
    state.room.isDestroyed = true
    state.room.isEnding = true
    state.room.isAbandoned = isAbandoned
    rooms.changed(state)
    let entry = try note(.destroyed(reason: reason, alternate: destroyed.alternate), by: author, in: state)
    // Written at once: sessions that register in the same batch read their memberships.
    try writer.update(state.room)
    tell(.entry(entry, author: session))
    rooms.hurry(state.room.id)
    try endPiece(of: state, after: nil, password: destroyed.password)
    return entry
  }

  /// Does a piece of the end of a room.
  ///
  /// - Parameters:
  ///   - after: the last person whose membership has ended.
  ///   - password: the alternate room's, for occupants.
  mutating func endMembers(_ post: Post, of id: DialogID, after: UserID?, password: String?) throws {
    if let room = try rooms.states[id]?.room ?? writer.room(id), room.isEnding {
      let state = rooms.states[id] ?? rooms.put(room)
      try endPiece(of: state, after: after, password: password)
    }
    settle(post)
  }

  /// Removes some occupants and ends some memberships, and leaves the others to a later post. A batch that has done enough of this leaves
  /// all of them.
  private mutating func endPiece(of state: RoomCache.State, after: UserID?, password: String?) throws {
    let id = state.room.id
    if endedRows >= Limits.endedRowsAtOnce { return later(.endMembers(id, after: after, password: password)) }
    let before = writer.changedRows
    defer { endedRows += writer.changedRows - before }
    var (reason, alternate): (String?, BareJID?) = (nil, nil)
    if case .room(let noted)? = try writer.entry(state.room.last, in: .server(id, .rules))?.fact,
      case .destroyed(let text, let other) = noted.change
    {
      (reason, alternate) = (text, other)
    }
    // They are removed behind the read, as a change during it would copy all of them.
    let leaving = (rooms.occupants(of: id)?.byKey ?? [:]).prefix(Limits.expelledAtOnce).map {
      (key: $0.key, affiliation: $0.value.affiliation)
    }
    for occupant in leaving {
      expel(
        occupant.key, from: state.room, affiliation: occupant.affiliation, codes: [], reason: reason,
        destroyed: OccupantPresence.Destroyed(alternate: alternate, password: password))
    }
    let page = try writer.members(of: .rows(of: id), after: after, limit: Limits.memberChangesAtOnce)
    endedRows += Int64(page.count)
    let members = page.filter { $0.affiliation.isMember }
    try writer.endMembers(
      members.map(\.party.id), of: id, feeds: members.flatMap { FeedRow.rows(of: $0.party, [.inbound]) },
      at: state.room.last)
    for member in members {
      rooms.forgetMemberships(of: member.party.id)
      rooms.forgetMark(of: member.party.id, in: state)
      // The owner of a temporary room that everybody has left bookmarked it with their own client, which makes it again. If it was
      // destroyed, no client must do so.
      if !state.room.isAbandoned || member.affiliation < .owner { try unbookmark(state.room, for: member.party) }
    }
    if page.count == Limits.memberChangesAtOnce || rooms.occupants(of: id) != nil {
      return later(.endMembers(id, after: page.last?.party.id ?? after, password: password))
    }
    state.room.isEnding = false
    state.room.isAbandoned = false
    state.room.isAddressFree = !state.room.settings.isPersistent
    rooms.changed(state)
    // Written at once: others make the room again in the same batch.
    try writer.update(state.room)
    if state.room.isAddressFree { rooms.release(state.room) }
    tell(.closed(id))
    later(.removeContent(id))
  }

  // MARK: Making a destroyed room again

  /// Returns whether a user may make a destroyed room again.
  mutating func mayMakeAgain(_ state: RoomCache.State, _ author: Party) throws -> Bool {
    if state.room.isEnding { return false }
    guard try affiliation(of: author.id, in: state) != .owner else { return true }
    let end = try writer.entry(state.room.last, in: .server(state.room.id, .rules))?.time
    return end.map { $0 + Limits.tombstoneTime <= time } ?? true
  }

  /// Frees the address of a destroyed room for a user who makes it again. Throws if they may not.
  mutating func release(_ room: Room, to author: Party) throws {
    let state = rooms.states[room.id] ?? rooms.put(room)
    guard state.room.isDestroyed, try mayMakeAgain(state, author) else { throw Problem.roomTaken }
    state.room.isAddressFree = true
    rooms.changed(state)
    try writer.update(state.room)
    rooms.release(state.room)
  }

  // MARK: Temporary rooms

  /// Ends the temporary rooms that this post has left without occupants. Of many, as a session may be in, the rest ends
  /// in later posts.
  mutating func endLeftRooms() throws {
    let left = rooms.takeLeft()
    for id in left.prefix(Limits.endedRoomsAtOnce) {
      if let room = try rooms.states[id]?.room ?? writer.room(id), !room.isDestroyed { try endIfEmpty(room) }
    }
    if left.count > Limits.endedRoomsAtOnce { later(.endEmpty(after: DialogID(0))) }
  }

  /// Ends the temporary rooms behind `after` in which there is nobody, some in this post and the others in later ones;
  /// continues with those that have ended and are not removed yet.
  mutating func endEmpty(_ post: Post, after: DialogID) throws {
    let found = try writer.temporaryRooms(after: after, limit: Limits.endedRoomsAtOnce)
    for room in found {
      if !room.isDestroyed {
        try endIfEmpty(room)
      } else if room.isEnding {
        later(.endMembers(room.id, after: nil, password: nil))
      } else {
        later(.removeContent(room.id))
      }
    }
    if found.count == Limits.endedRoomsAtOnce, let last = found.last { later(.endEmpty(after: last.id)) }
    settle(post)
  }

  private mutating func endIfEmpty(_ room: Room) throws {
    let state = rooms.states[room.id] ?? rooms.put(room)
    guard !state.room.settings.isPersistent, rooms.occupants(of: room.id) == nil,
      // Nobody has destroyed it: the notice is an owner's, as every notice is somebody's.
      let owner = try writer.members(of: .server(room.id, .rules).only([.owner]), after: nil, limit: 1).first
    else { return }
    _ = try end(state, by: owner.party, reason: "Everybody has left this temporary room.", isAbandoned: true)
  }

  /// Removes a piece of what an ended room contained (`RoomWriter.removeContent`), and the others in later posts. What is held
  /// stays until the hold is removed.
  mutating func removeContent(_ post: Post, of id: DialogID) throws {
    let before = writer.changedRows
    if endedRows >= Limits.endedRowsAtOnce {
      later(.removeContent(id))
    } else if try writer.isHeld(id) {
      rooms.forget(id)
    } else if let room = try rooms.states[id]?.room ?? writer.room(id), room.isDestroyed, !room.isEnding,
      try writer.removeContent(of: id, limit: Limits.removedEntriesAtOnce, endingFiles: time)
    {
      later(.removeContent(id))
    } else {
      rooms.forget(id)
    }
    endedRows += writer.changedRows - before
    settle(post)
  }

  /// Posts an intent of the server itself behind those that others have posted by now.
  mutating func later(_ intent: RoomIntent) {
    tell(.later(Post(author: Parley.nobody, intent: .room(intent), completion: .none)))
  }
}
