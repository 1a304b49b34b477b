import Addresses
import Synchronization

/// The numbers of sessions that hear the large rooms, for all threads: a post to such a room is charged to its author
/// before it is judged (`DeliveryCharge`). The committer notes them with each delivery to all of a room.
///
/// So a post is charged by the size at the previous delivery. That is too little, or nothing, for the first post to a room
/// if many people whom it does not show have entered since then, or if since the start only sessions that wait for events
/// have followed it. The error is at most a twentieth of the deliveries that the author may cause at once, or so many for
/// each person whom a moderator's post changes; the next post is charged by the right size. Rooms are empty after a start, and
/// whoever enters and is shown has the size noted.
final class AudienceSizes: Sendable {
  private struct State {
    var sizes: [DialogID: (count: Int, address: BareJID)] = [:]
    var rooms: [BareJID: DialogID] = [:]
  }

  private let state = Mutex(State())
  // Most servers have no large room: then nobody waits for the lock.
  private let isEmpty = Atomic<Bool>(true)

  /// Notes the number of sessions in a room; forgets a room that is not large.
  func note(_ count: Int, in room: RoomName) {
    if count < Limits.fanOutMin { return forget(room.dialog) }
    state.withLock { state in
      state.sizes[room.dialog] = (count, room.address)
      state.rooms[room.address] = room.dialog
      isEmpty.store(false, ordering: .relaxed)
    }
  }

  func forget(_ room: DialogID) {
    if isEmpty.load(ordering: .relaxed) { return }
    state.withLock { state in
      guard let size = state.sizes.removeValue(forKey: room) else { return }
      if state.rooms[size.address] == room { state.rooms[size.address] = nil }
      isEmpty.store(state.sizes.isEmpty, ordering: .relaxed)
    }
  }

  /// Returns the number of sessions in a room; 0 if it is not large.
  func count(in room: RoomReference) -> Int { large(room)?.count ?? 0 }

  /// Returns a large room with the number of its sessions, and its address; `nil` if it is not large.
  func large(_ room: RoomReference) -> (dialog: DialogID, count: Int, address: BareJID)? {
    if isEmpty.load(ordering: .relaxed) { return nil }
    return state.withLock { state in
      let dialog: DialogID? =
        switch room {
        case .dialog(let known): known
        case .address(let address): state.rooms[address]
        }
      guard let dialog, let size = state.sizes[dialog] else { return nil }
      return (dialog, size.count, size.address)
    }
  }
}

extension RoomIntent {
  /// The room to whose sessions the request is delivered, and the deliveries to each of them; `nil` for a request that goes
  /// to few. An entrance counts twice: it pays for the exit, which is free, as is the end of a connection.
  var spread: (room: RoomReference, times: Int)? {
    switch self {
    case .enter(let room, let entering): return (room, entering.isJoin ? 2 : 1)
    case .show(let room, _), .say(let room, _), .signal(let room, _), .marker(let room, _), .configure(let room, _),
      .topic(let room, _, _), .register(let room, _, _):
      return (room, 1)
    // An entry for each person, and a presence or a notice.
    case .members(let room, let drafts): return (room, 2 * drafts.count)
    case .roles(let room, let drafts): return (room, drafts.count)
    case .create, .introduce, .probe, .exit, .whisper, .pass, .face, .expelOutsiders, .prepare, .abandon, .invite,
      .decline, .askForVoice, .destroy, .endMembers, .endEmpty, .removeContent, .readNicks, .occupants, .place,
      .headcounts, .come, .vacate, .lose:
      return nil
    }
  }

  /// The room whose occupants the request lists, and how many of them at most; `nil` for any other request.
  var list: (room: RoomReference, atMost: Int)? {
    if case .occupants(let room, let count) = self { return (room, count) }
    if case .probe(let room, nil) = self { return (room, .max) }
    return nil
  }

  /// The number of people whose affiliations or roles are changed.
  var peopleChanged: Int {
    switch self {
    case .members(_, let drafts): drafts.count
    case .roles(_, let drafts): drafts.count
    case .configure(_, let draft): draft.members.count
    case .create(let draft): draft.members.count
    case .introduce, .enter, .show, .probe, .exit, .say, .signal, .whisper, .pass, .face, .marker, .expelOutsiders,
      .prepare, .abandon, .topic, .invite, .decline, .askForVoice, .register, .destroy, .endMembers, .endEmpty,
      .removeContent, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      0
    }
  }

  /// Whether a room that owes deliveries takes it all the same: nobody can flood a room with it, and it may end a flood.
  /// That is what only moderators, admins and owners do (kicks, bans, retractions of others' messages, roles and settings),
  /// and the end of a membership. A watcher is a member without voice, which apps use in place of a role. Members may change
  /// their own nicks as often as they like.
  var isTakenInDebt: Bool {
    switch self {
    case .roles, .configure: true
    case .members(_, let drafts):
      drafts.allSatisfy { ($0.affiliation ?? .owner) <= Affiliation.watcher && $0.nick == nil }
    case .say(_, let draft): if case .moderation? = draft.reference?.kind { true } else { false }
    case .create, .introduce, .enter, .show, .probe, .exit, .signal, .whisper, .pass, .face, .marker, .expelOutsiders,
      .prepare, .abandon, .topic, .invite, .decline, .askForVoice, .register, .destroy, .endMembers, .endEmpty,
      .removeContent, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      false
    }
  }
}
