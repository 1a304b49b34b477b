import Addresses

/// What the judge keeps of rooms: the durable part as a cache, dropped when a
/// batch fails; who is there, which is nowhere else, and is put back.
struct RoomBook {
  /// A room as the posts of a batch see it, shared by all of them.
  final class State {
    var room: Room
    /// nil: looked up, and there is no row.
    var members: [UserID: Member?] = [:]
    var marks: [UserID: Mark] = [:]
    var dirtyMarks: Set<UserID> = []
    /// When somebody last wrote, where the room is slow (XEP-0500).
    var lastSaid: [UserID: Timestamp] = [:]
    var hasCounted = false
    var hasChanged = false
    init(_ room: Room) { self.room = room }
  }

  /// An address that somebody is setting up (XEP-0045 10.1): nothing is stored.
  struct Lease: Sendable {
    let session: any LiveSession
    let party: Party
    let nick: String
    let presence: Presence
  }

  private(set) var states: [DialogID: State] = [:]
  private(set) var numbers: [BareJID: DialogID] = [:]
  private var dirty: [State] = []

  private var present: [DialogID: Occupants] = [:]
  private var seats: [SessionID: Set<DialogID>] = [:]
  private(set) var leases: [BareJID: Lease] = [:]

  private var formerly: [DialogID: Occupants] = [:]
  private var formerSeats: [SessionID: Set<DialogID>] = [:]
  private var formerLeases: [BareJID: Lease?] = [:]

  // MARK: Rooms

  mutating func put(_ room: Room) -> State {
    let state = State(room)
    states[room.id] = state
    numbers[room.address] = room.id
    return state
  }

  mutating func counted(_ state: State) {
    if !state.hasCounted && !state.hasChanged && state.dirtyMarks.isEmpty { dirty.append(state) }
    state.hasCounted = true
  }

  mutating func changed(_ state: State) {
    counted(state)
    state.hasChanged = true
  }

  mutating func set(_ mark: Mark, in state: State) {
    counted(state)
    state.marks[mark.user] = mark
    state.dirtyMarks.insert(mark.user)
  }

  mutating func finish(_ writer: any StoreWriter) throws {
    for state in dirty {
      if state.hasCounted { try writer.updateCounters(of: state.room) }
      if state.hasChanged { try writer.update(state.room) }
      for user in state.dirtyMarks {
        if let mark = state.marks[user] { try writer.put(mark, superseded: .zero) }
      }
      state.hasCounted = false
      state.hasChanged = false
      state.dirtyMarks = []
    }
    dirty.removeAll(keepingCapacity: true)
  }

  // MARK: Who is there

  func occupants(of room: DialogID) -> Occupants? { present[room] }
  func rooms(of session: SessionID) -> Set<DialogID> { seats[session] ?? [] }

  mutating func occupy<Result>(_ room: DialogID, _ change: (inout Occupants) -> Result) -> Result {
    // Taken out, so that the change is made in place where nothing is to be kept.
    var occupants = present.removeValue(forKey: room) ?? Occupants()
    if formerly[room] == nil { formerly[room] = occupants }
    let result = change(&occupants)
    if !occupants.isEmpty { present[room] = occupants }
    return result
  }

  mutating func seat(_ session: SessionID, in room: DialogID, _ isThere: Bool) {
    let before = seats[session] ?? []
    if formerSeats[session] == nil { formerSeats[session] = before }
    var after = before
    if isThere { after.insert(room) } else { after.remove(room) }
    seats[session] = after.isEmpty ? nil : after
  }

  mutating func lease(_ address: BareJID, _ lease: Lease?) {
    if formerLeases[address] == nil { formerLeases[address] = .some(leases[address]) }
    leases[address] = lease
  }

  // MARK: The batch

  /// The batch is durable.
  mutating func settled() {
    formerly.removeAll(keepingCapacity: true)
    formerSeats.removeAll(keepingCapacity: true)
    formerLeases.removeAll(keepingCapacity: true)
    guard states.count > Limits.cachedDialogsMax else { return }
    states = [:]
    numbers = [:]
  }

  mutating func rollBack() {
    for (room, occupants) in formerly { present[room] = occupants.isEmpty ? nil : occupants }
    for (session, rooms) in formerSeats { seats[session] = rooms.isEmpty ? nil : rooms }
    for (address, lease) in formerLeases { leases[address] = lease }
    formerly = [:]
    formerSeats = [:]
    formerLeases = [:]
    states = [:]
    numbers = [:]
    dirty = []
  }

  /// Work may have changed anything that is stored.
  mutating func forget() {
    states = [:]
    numbers = [:]
  }
}
