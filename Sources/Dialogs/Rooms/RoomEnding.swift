import Addresses
import Basics

// The end of rooms. Theory:
//
// A room ends when an owner destroys it (XEP-0045 10.9). A temporary one also ends when its last occupant leaves (7.14),
// in the post that removes that occupant: a user who enters by the next post finds no room, and makes one. Occupants are
// sessions, those that may still be resumed and members' app sessions included. As they are not stored, a start finds
// all temporary rooms empty.
//
//   persistent -destroyed-> tombstone -made again-> name
//   temporary -destroyed, or empty-> name with content -removed piece by piece-> name
//
// The values of a persistent room (`RoomKeyValue`: its picture, and bans of addresses) are removed piece by piece, too: nobody reads
// them any more, and whoever makes and destroys rooms all day would fill the disk with them. Its people and its log stay.
//
// A tombstone holds the address: clients that still know the room are told that it is gone, instead of meeting
// strangers. Its former owners may make the room again, so that a slip can be undone, and after `Limits.tombstoneTime`
// so may others. Of a temporary room nobody expects that, so its address is free at once.
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
    if state.room.isAddressFree {
      // Otherwise their clients would make it again.
      let owners = try writer.members(
        of: .server(state.room.id, .rules).only([.owner]), after: nil, limit: Limits.memberChangesMax)
      for owner in owners { try unbookmark(state.room, for: owner.party) }
    }
    try unbookmarkAll(of: state.room, after: nil)
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    settle(post, receipt)
  }

  private mutating func end(
    _ state: RoomCache.State, by author: Party, _ session: SessionID? = nil, reason: String?,
    _ destroyed: OccupantPresence.Destroyed = OccupantPresence.Destroyed(alternate: nil)
  ) throws -> Entry {
    // The room has no followers left, so its last entry is in the feed of each former member.
    var members: [Party] = []
    var after: UserID?
    while true {
      let page = try writer.members(
        of: .server(state.room.id, .rules).only([.watcher, .member, .admin, .owner]), after: after,
        limit: Limits.feedPageMax)
      members += page.map(\.party)
      guard page.count == Limits.feedPageMax else { break }
      after = page.last?.party.id
    }
    let feeds = members.flatMap { FeedRow.rows(of: $0, [.inbound]) }
    state.room.isDestroyed = true
    state.room.isAddressFree = !state.room.settings.isPersistent
    rooms.changed(state)
    let entry = try note(
      .destroyed(reason: reason, alternate: destroyed.alternate), by: author, in: state, feeds: feeds)
    // Written at once: sessions that register in the same batch read their memberships, and others make the room again.
    try writer.update(state.room)
    for member in members { rooms.forgetMemberships(of: member.id) }
    if state.room.isAddressFree { rooms.release(state.room) }
    if let occupants = rooms.occupants(of: state.room.id) {
      for (key, occupant) in occupants.byKey {
        expel(
          key, from: state.room, affiliation: occupant.affiliation, codes: [], reason: reason, destroyed: destroyed)
      }
    }
    tell(.entry(entry, author: session))
    tell(.closed(state.room.id))
    rooms.hurry(state.room.id)
    return entry
  }

  // MARK: Making a destroyed room again

  /// Returns whether a user may make a destroyed room again.
  mutating func mayMakeAgain(_ state: RoomCache.State, _ author: Party) throws -> Bool {
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
  /// continues the removal of what rooms contained that have ended.
  mutating func endEmpty(_ post: Post, after: DialogID) throws {
    let found = try writer.temporaryRooms(after: after, limit: Limits.endedRoomsAtOnce)
    for room in found {
      if !room.isDestroyed {
        try endIfEmpty(room)
      } else if room.settings.isPersistent {
        // Its address may be another room's by now, and the bookmarks, too: a hold keeps its content for any time.
        later(.removeContent(room.id))
      } else {
        try unbookmarkAll(of: room, after: nil)
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
    _ = try end(state, by: owner.party, reason: "Everybody has left this temporary room.")
    try unbookmarkAll(of: state.room, after: nil)
  }

  /// Removes a piece of what an ended room contained (`RoomWriter.removeContent`), and the others in later posts. What is held
  /// stays until the hold is removed.
  mutating func removeContent(_ post: Post, of id: DialogID) throws {
    if try writer.isHeld(id) {
      rooms.forget(id)
    } else if let room = try rooms.states[id]?.room ?? writer.room(id), room.isDestroyed,
      try writer.removeContent(of: id, limit: Limits.removedEntriesAtOnce, endingFiles: time)
    {
      later(.removeContent(id))
    } else {
      rooms.forget(id)
    }
    settle(post)
  }

  /// Posts an intent of the server itself behind those that others have posted by now.
  mutating func later(_ intent: RoomIntent) {
    tell(.later(Post(author: Parley.nobody, intent: .room(intent), completion: .none)))
  }
}
