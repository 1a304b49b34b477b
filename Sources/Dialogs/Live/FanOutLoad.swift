import Synchronization

/// The deliveries to large rooms that lanes have not taken apart yet (`LaneQueue`), for all threads. Theory:
///
/// Each author and each room has a budget of deliveries, but many rooms together may have more than the event loops
/// make. Then all of it would wait in memory, and a message to any large room behind it. So there is a bound of all that
/// waits, `Limits.fanOutLoadMax`, and beyond it no room has more of it than an equal share: a room that has takes no further
/// post until the lanes have come to its deliveries, and whoever posts there is read more slowly. A room that has nothing
/// waiting takes posts as always, so those who flood a hundred rooms hold up only these.
final class FanOutLoad: Sendable {
  private struct State {
    var waiting: [DialogID: Int] = [:]
    var total = 0
    /// Those of the batch that is being judged, which are part of `waiting` until the lanes have them.
    var judged: [DialogID: Int] = [:]

    mutating func add(_ count: Int, of room: DialogID) {
      let sum = waiting[room, default: 0] + count
      waiting[room] = sum == 0 ? nil : sum
      total += count
    }
  }

  private let state = Mutex(State())
  private let bound: Int

  init(bound: Int = Limits.fanOutLoadMax) { self.bound = bound }

  /// The number of deliveries that wait.
  var total: Int { state.withLock { $0.total } }

  /// Notes deliveries that a lane has been given; a negative number if it has taken them apart.
  func add(_ count: Int, of room: DialogID) { state.withLock { $0.add(count, of: room) } }

  /// Notes deliveries that the batch will give to lanes.
  func expect(_ count: Int, of room: DialogID) {
    state.withLock { state in
      state.add(count, of: room)
      state.judged[room, default: 0] += count
    }
  }

  /// Forgets what the batch was expected to give: the lanes are given it now, or it has failed.
  func batchEnded() {
    state.withLock { state in
      for (room, count) in state.judged { state.add(-count, of: room) }
      state.judged = [:]
    }
  }

  /// Returns whether more waits than the bound, and more than an equal share of it for this room.
  func isBeyondShare(_ room: DialogID) -> Bool {
    state.withLock { state in
      state.total > bound && state.waiting[room, default: 0] * state.waiting.count > bound
    }
  }
}

/// The part of the load that one room has.
struct RoomLoad: Sendable {
  let load: FanOutLoad
  let room: DialogID

  var isBeyondShare: Bool { load.isBeyondShare(room) }
  func expect(_ count: Int) { load.expect(count, of: room) }
}
