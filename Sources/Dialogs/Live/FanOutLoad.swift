import Addresses
import Synchronization

/// The deliveries to large rooms that lanes have not taken apart yet (`LaneQueue`), for all threads. Theory:
///
/// Each author and each room has a budget of deliveries, but many rooms together may have more than the event loops
/// make. Then all of it would wait in memory, and a message to any large room behind it. So there is a bound of all that
/// waits, `Limits.fanOutLoadMax`, and beyond it no author and no room has more of it than an equal share. An author who has
/// posts in no large room, and a room that has takes no post, until the lanes have come to these deliveries; whoever posts
/// there is read more slowly. An author of whom nothing waits may post, and a room for which nothing waits takes posts, so
/// those who flood a hundred rooms hold up only these.
///
/// There are as many shares as authors or as rooms, whichever are fewer: so one author has no more by posting in many
/// rooms, and no room by having many authors, and neither makes the share of others smaller. What waits is bounded in both
/// cases: all authors together have no more than the bound, or all rooms have.
final class FanOutLoad: Sendable {
  private struct Origin: Hashable {
    let room: DialogID
    let author: BareJID
  }

  private struct State {
    var rooms: [DialogID: Int] = [:]
    var authors: [BareJID: Int] = [:]
    var total = 0
    /// Those of the batch that is being judged, which are counted until the lanes have them.
    var judged: [Origin: Int] = [:]

    mutating func add(_ count: Int, of room: DialogID, by author: BareJID) {
      let (ofRoom, ofAuthor) = (rooms[room, default: 0] + count, authors[author, default: 0] + count)
      rooms[room] = ofRoom == 0 ? nil : ofRoom
      authors[author] = ofAuthor == 0 ? nil : ofAuthor
      total += count
    }

    /// Returns whether more waits than the bound, and this is more than an equal share of it.
    func isBeyondShare(_ count: Int, of bound: Int) -> Bool {
      total > bound && count * min(rooms.count, authors.count) > bound
    }
  }

  private let state = Mutex(State())
  private let bound: Int

  init(bound: Int = Limits.fanOutLoadMax) { self.bound = bound }

  /// The number of deliveries that wait.
  var total: Int { state.withLock { $0.total } }

  /// Notes deliveries that a lane has been given; a negative number if it has taken them apart.
  func add(_ count: Int, of room: DialogID, by author: BareJID) {
    state.withLock { $0.add(count, of: room, by: author) }
  }

  /// Notes deliveries that the batch will give to lanes.
  func expect(_ count: Int, of room: DialogID, by author: BareJID) {
    state.withLock { state in
      state.add(count, of: room, by: author)
      state.judged[Origin(room: room, author: author), default: 0] += count
    }
  }

  /// Forgets what the batch was expected to give: the lanes are given it now, or it has failed.
  func batchEnded() {
    state.withLock { state in
      for (origin, count) in state.judged { state.add(-count, of: origin.room, by: origin.author) }
      state.judged = [:]
    }
  }

  /// Returns whether more waits than the bound, and more than an equal share of it for this room.
  func isBeyondShare(_ room: DialogID) -> Bool {
    state.withLock { $0.isBeyondShare($0.rooms[room, default: 0], of: bound) }
  }

  /// Returns whether more waits than the bound, and more than an equal share of it by this author.
  func isBeyondShare(_ author: BareJID) -> Bool {
    state.withLock { $0.isBeyondShare($0.authors[author, default: 0], of: bound) }
  }
}

/// The part of the load that one author has in one room. It is an object, as it is part of each item of a lane, which small
/// rooms and private dialogs have, too.
final class RoomLoad: Sendable {
  private let load: FanOutLoad
  private let room: DialogID
  private let author: BareJID

  init(load: FanOutLoad, room: DialogID, author: BareJID) {
    self.load = load
    self.room = room
    self.author = author
  }

  var isRoomBeyondShare: Bool { load.isBeyondShare(room) }
  var isAuthorBeyondShare: Bool { load.isBeyondShare(author) }
  var isHeldUp: Bool { isRoomBeyondShare || isAuthorBeyondShare }
  func add(_ count: Int) { load.add(count, of: room, by: author) }
  func expect(_ count: Int) { load.expect(count, of: room, by: author) }
}
