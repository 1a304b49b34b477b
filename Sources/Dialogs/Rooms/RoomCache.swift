import Addresses
import Basics

/// The write transaction's state of rooms: a cache of the durable part, dropped when a batch fails; and the occupants,
/// which are stored nowhere else and are restored by undoing the batch's changes, at a cost that depends on the changes
/// alone.
struct RoomCache {
  /// A room as the posts of a batch see it, shared by all of them.
  final class State {
    var room: Room
    /// The members looked up so far; `nil` for users without a row.
    fileprivate(set) var members = ByteCache<UserID, Member?> { _, member in member?.heldBytes ?? 0 }
    fileprivate(set) var marks = ByteCache<UserID, Mark> { _, _ in 0 }
    var dirtyMarks: Set<UserID> = []
    /// The number of outcasts; `nil` if not counted yet.
    var outcasts: Int?
    /// The banned addresses that are no user's, in normal form; `nil` if not read yet.
    fileprivate(set) var addressBans: Set<String>?
    /// The edition of the member list (`Occupancy.edition`).
    fileprivate(set) var edition: UInt64 = 0
    /// The member list as last read (XEP-0463); `members` is `nil` if it is too long.
    fileprivate(set) var people: (version: Position, members: [Member]?)?
    /// The bytes of `room`, `addressBans` and `people` in memory, about.
    fileprivate var roomBytes: Int
    fileprivate var banBytes = 0
    fileprivate var peopleBytes = 0
    /// Whether the cache has it; a post may still have a room that has just been dropped.
    fileprivate var isCached = true
    var hasCounted = false
    var hasChanged = false
    init(_ room: Room) {
      self.room = room
      roomBytes = room.heldBytes
    }
    /// The bytes of all of it, about.
    fileprivate var bytes: Int { roomBytes + banBytes + peopleBytes + members.bytes + marks.bytes }
  }

  /// An address whose room is being set up (XEP-0045 10.1); nothing is stored.
  struct Lease: Sendable {
    var session: any LiveSession
    let party: Party
    var nick: String
    var presence: Presence
    /// Whether the creator configures the room, so that nobody else enters.
    var isLocked = false
  }

  /// The times of users' last messages in a slow room (XEP-0500). They are stored nowhere else, so this is no cache.
  private struct RoomRate {
    var said: [UserID: Timestamp] = [:]
    /// The size at which users who need not wait any more are removed.
    var full = 64
  }

  /// The nicks of a large room's members that have been read so far, up to a member.
  struct NickReading {
    let room: DialogID
    var looks = NickLooks()
    var after: UserID?
  }

  /// A room of which a user is a member.
  struct Membership: Sendable {
    let room: DialogID
    let seesAddresses: Bool
  }

  /// A user's place in a room.
  private struct Seat: Hashable {
    let room: DialogID
    let user: UserID
  }

  /// The nick and the requests that a user without voice has shown to the people in a room.
  private struct Visit {
    /// The hash of the nick, which is compared only, and may be long; `nil` before there is one.
    var nick: Int?
    /// The rate of changing it.
    var nicks: TokenBucket
    /// The rate of asking for voice.
    var requests: TokenBucket

    init(now: Timestamp) {
      nicks = TokenBucket(Limits.visitorRate, now: now)
      requests = TokenBucket(Limits.visitorRate, now: now)
    }

    /// Returns whether it is the same as a new one, but for the nick.
    func isOver(now: Timestamp) -> Bool {
      var (nicks, requests) = (nicks, requests)
      return nicks.isFull(Limits.visitorRate, now: now) && requests.isFull(Limits.visitorRate, now: now)
    }
  }

  /// The presences that a user shows in rooms.
  private struct Shown {
    /// Their bytes, also of those in rooms that are being set up.
    var bytes = 0
    var rooms: Set<DialogID> = []
  }

  private(set) var states: [DialogID: State] = [:]
  private(set) var numbers: [BareJID: DialogID] = [:]
  /// The last edition given to a state: no two states have the same.
  private var editions: UInt64 = 0
  private var dirty: [State] = []

  private var present: [DialogID: Occupants] = [:]
  private var shown: [UserID: Shown] = [:]
  /// The bytes of the presences of all users.
  private(set) var presenceBytes = 0
  private var roomsBySession: [SessionID: Set<DialogID>] = [:]
  /// The sessions that have entered or left rooms since `takeRoomCounts`, with their users.
  private var moved: [SessionID: UserID] = [:]
  private(set) var leases: [BareJID: Lease] = [:]
  private var leased: [UserID: Set<BareJID>] = [:]
  private var paces: [DialogID: RoomRate] = [:]
  /// The users' rates of making temporary rooms.
  private var makers: [UserID: TokenBucket] = [:]
  private var makersSwept = Limits.cachedUsersMax
  /// The users' rates of making lasting rooms.
  private var founders: [UserID: TokenBucket] = [:]
  private var foundersSwept = Limits.cachedUsersMax
  /// The users' rates of entering each large room.
  private var entrances: [Seat: TokenBucket] = [:]
  private var entrancesSwept = Limits.cachedUsersMax
  private var visits: [Seat: Visit] = [:]
  private var visitsSwept = Limits.cachedUsersMax
  /// The rooms whose last occupant has left, or that became temporary, since `takeLeft`.
  private var left: [DialogID] = []
  /// The bytes of `states`, about.
  private(set) var bytes = 0
  /// The rooms of users who have come online, by number, so that they are not read for each session.
  private var memberships = ByteCache<UserID, [Membership]> { _, rooms in
    Limits.textHeaderBytes + rooms.count * MemoryLayout<Membership>.stride
  }
  /// The looks of the members' nicks. An account that is created empties the cache of rows, but changes no nicks: the
  /// members of a large room are not read again for each newcomer.
  private var looks: [DialogID: NickLooks] = [:]
  /// The number of nicks in `looks`.
  private var lookCount = 0
  /// The large room whose nicks are being read page by page, and those that are read after it.
  private(set) var reading: NickReading?
  private var unread: [DialogID] = []
  /// The rooms of which the batch has read or changed nicks. Only these are dropped when it fails: a batch that somebody makes fail
  /// does not have the members of all large rooms read again.
  private var lookedAt: Set<DialogID> = []

  private var formerly: [(room: DialogID, change: Occupants.Change)] = []
  private var formerRooms: [SessionID: Set<DialogID>] = [:]
  private var formerLeases: [BareJID: Lease?] = [:]
  private var formerlySaid: [(room: DialogID, user: UserID, time: Timestamp?)] = []
  private var formerEntrances: [Seat: TokenBucket?] = [:]
  private var formerMakers: [UserID: TokenBucket?] = [:]
  private var formerVisits: [Seat: Visit?] = [:]
  private var formerFounders: [UserID: TokenBucket?] = [:]

  // MARK: Rooms

  mutating func put(_ room: Room) -> State {
    drop(room.id)
    let state = State(room)
    edited(state)
    states[room.id] = state
    bytes += state.bytes
    if !room.isAddressFree { numbers[room.address] = room.id }
    return state
  }

  /// Forgets the address of a room that has lost it.
  mutating func release(_ room: Room) {
    if numbers[room.address] == room.id { numbers[room.address] = nil }
  }

  /// Drops a room from the cache, as its rows were removed.
  mutating func forget(_ room: DialogID) {
    drop(room)
    lookCount -= looks.removeValue(forKey: room)?.count ?? 0
    if reading?.room == room { reading = nil }
    unread.removeAll { $0 == room }
  }

  private mutating func drop(_ room: DialogID) {
    guard let state = states.removeValue(forKey: room) else { return }
    release(state.room)
    bytes -= state.bytes
    state.isCached = false
  }

  /// Changes what is known of a room, and counts the bytes by which it has grown.
  private mutating func change(_ state: State, _ body: (State) -> Void) {
    let before = state.bytes
    body(state)
    if state.isCached { bytes += state.bytes - before }
  }

  /// Drops the marks of a room's members, which have been written, as others have changed them since.
  mutating func forgetMarks(in room: DialogID) {
    if let state = states[room] { change(state) { $0.marks.removeAll() } }
  }

  /// Drops the rows of a deleted user in a room, which the store has changed.
  mutating func forget(_ user: UserID, in room: DialogID) {
    forgetMemberships(of: user)
    note(nick: nil, of: user, in: room)
    guard let state = states[room] else { return }
    change(state) {
      $0.members.removeValue(forKey: user)
      $0.marks.removeValue(forKey: user)
      ($0.people, $0.peopleBytes) = (nil, 0)
      $0.outcasts = nil
    }
    edited(state)
  }

  /// Drops the mark of a user who is no member any more.
  mutating func forgetMark(of user: UserID, in state: State) { change(state) { $0.marks[user] = nil } }

  /// Caches all banned addresses that are no user's.
  mutating func remember(bans: Set<String>, in state: State) {
    change(state) {
      $0.addressBans = bans
      $0.banBytes = bans.reduce(0) { $0 + Self.bytes(ofBan: $1) }
    }
  }

  /// Notes that an address is banned, or no more, if the banned addresses are known.
  mutating func note(ban address: String, stands: Bool, in state: State) {
    change(state) { state in
      let count = state.addressBans?.count
      if stands { state.addressBans?.insert(address) } else { state.addressBans?.remove(address) }
      state.banBytes += ((state.addressBans?.count ?? 0) - (count ?? 0)) * Self.bytes(ofBan: address)
    }
  }

  private static func bytes(ofBan address: String) -> Int { 2 * MemoryLayout<String>.stride + address.heldBytes }

  /// Gives the state a new edition, as a row of the member list has been written.
  mutating func edited(_ state: State) {
    editions += 1
    state.edition = editions
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
    remember(mark, in: state)
    state.dirtyMarks.insert(mark.user)
  }

  mutating func remember(_ mark: Mark, in state: State) {
    change(state) { $0.marks[mark.user] = mark }
  }

  /// Caches a member; `nil` if there is no row.
  mutating func remember(_ member: Member?, of user: UserID, in state: State) {
    change(state) { $0.members[user] = .some(member) }
  }

  /// Returns the rooms of a user; `nil` if they have not been read since they changed.
  func memberships(of user: UserID) -> [Membership]? { memberships[user] }

  /// The bytes of them, about.
  var membershipBytes: Int { memberships.bytes }

  mutating func remember(_ found: [Membership], of user: UserID) { memberships[user] = found }

  /// Drops the rooms of a user, of which one has changed.
  mutating func forgetMemberships(of user: UserID) { memberships[user] = nil }

  /// Returns what the nicks of a room's members look like; `nil` if they have not been read.
  func looks(of room: DialogID) -> NickLooks? { looks[room] }

  /// The bytes of the looks of all rooms, about.
  var nickBytes: Int { (looks.count + lookCount) * Limits.nickLookBytes }

  mutating func remember(_ found: NickLooks, of room: DialogID) {
    lookCount += found.count - (looks[room]?.count ?? 0)
    looks[room] = found
    lookedAt.insert(room)
    if reading?.room == room { reading = nil }
  }

  /// Notes that the nicks of a room's members are to be read, if they are so many that others would notice if they were read at
  /// once, for the first nick that somebody wishes for. Returns whether reading begins with it: one page is read at a time,
  /// however many rooms are used at once.
  mutating func noteUnread(_ room: Room) -> Bool {
    guard room.memberCount > Limits.nicksAtOnceMax, looks[room.id] == nil, reading?.room != room.id,
      !unread.contains(room.id)
    else { return false }
    let begins = reading == nil && unread.isEmpty
    unread.append(room.id)
    return begins
  }

  /// Returns the room whose nicks are read next, and the member behind whom the next page begins; `nil` if there is none.
  /// Rooms whose nicks would displace others, or something else that is remembered, are left out: it would be read again and again.
  ///
  /// - Parameter free: the bytes that may be remembered beside those that are.
  mutating func nextUnread(free: Int) -> (room: DialogID, after: UserID?)? {
    if let reading { return (reading.room, reading.after) }
    while !unread.isEmpty {
      let room = unread.removeFirst()
      if looks[room] == nil, let count = states[room]?.room.memberCount,
        count * Limits.nickLookBytes <= min(free, Limits.oneCacheBytesMax - nickBytes)
      {
        reading = NickReading(room: room)
        return (room, nil)
      }
    }
    return nil
  }

  /// Remembers a page of the nicks that are being read.
  mutating func remember(_ page: [Member], isLast: Bool) {
    for member in page { reading?.looks[member.party.id] = member.nick.map { NickLook($0) } }
    reading?.after = page.last?.party.id
    if isLast, let read = reading { remember(read.looks, of: read.room) }
  }

  /// Notes the nick that a member now has; `nil` for none.
  mutating func note(nick: String?, of user: UserID, in room: DialogID) {
    if reading?.room == room { reading?.looks[user] = nick.map { NickLook($0) } }
    guard let before = looks[room]?.count else { return }
    lookedAt.insert(room)
    looks[room]?[user] = nick.map { NickLook($0) }
    lookCount += (looks[room]?.count ?? 0) - before
  }

  mutating func remember(_ people: [Member]?, in state: State) {
    change(state) { state in
      state.people = (state.room.version, people)
      state.peopleBytes = people?.reduce(0) { $0 + MemoryLayout<Member>.stride + $1.heldBytes } ?? 0
    }
  }

  mutating func finish(_ writer: any StoreWriter) throws {
    for state in dirty {
      if state.hasCounted { try writer.updateCounters(of: state.room) }
      if state.hasChanged {
        try writer.update(state.room)
        change(state) { $0.roomBytes = $0.room.heldBytes }
      }
      for user in state.dirtyMarks {
        if let mark = state.marks[user] { try writer.put(mark, superseded: .zero) }
      }
      state.hasCounted = false
      state.hasChanged = false
      state.dirtyMarks = []
    }
    dirty.removeAll(keepingCapacity: true)
  }

  // MARK: Occupants

  func occupants(of room: DialogID) -> Occupants? { present[room] }
  /// Returns the number of occupants of each room that is not empty, of these rooms or of all.
  func headcounts(of ids: [DialogID]?) -> [DialogID: Int] {
    guard let ids else { return present.mapValues(\.count) }
    return ids.reduce(into: [:]) { $0[$1] = present[$1]?.count }
  }
  func rooms(of session: SessionID) -> Set<DialogID> { roomsBySession[session] ?? [] }

  mutating func occupy<Result>(_ room: DialogID, _ change: (inout Occupants) -> Result) -> Result {
    // Removed, so that the change is made in place.
    var occupants = present.removeValue(forKey: room) ?? Occupants()
    let wasEmpty = occupants.isEmpty
    let result = change(&occupants)
    for change in occupants.takeChanges() {
      countPresences(change.was, change.now, in: room)
      formerly.append((room, change))
    }
    if !occupants.isEmpty { present[room] = occupants } else if !wasEmpty { left.append(room) }
    return result
  }

  /// Returns the bytes of the presences that a user shows in rooms.
  func presenceBytes(of user: UserID) -> Int { shown[user]?.bytes ?? 0 }

  private mutating func countPresences(
    _ was: Occupants.Occupant?, _ now: Occupants.Occupant?, in room: DialogID
  ) {
    if let was {
      if now?.party.id != was.party.id { shown[was.party.id]?.rooms.remove(room) }
      countPresences(-was.presenceBytes, of: was.party.id)
    }
    if let now {
      if was?.party.id != now.party.id { shown[now.party.id, default: Shown()].rooms.insert(room) }
      countPresences(now.presenceBytes, of: now.party.id)
    }
  }

  private mutating func countPresences(_ bytes: Int, of user: UserID) {
    presenceBytes += bytes
    shown[user, default: Shown()].bytes += bytes
    if let left = shown[user], left.bytes == 0, left.rooms.isEmpty { shown[user] = nil }
  }

  /// Forgets what the user with the most bytes says in rooms, and then the next one, if all presences together have more bytes than the
  /// bound: in as many rooms as make room for `Limits.presencesInRoomsStep` bytes. Nobody is notified.
  mutating func boundPresences(_ bound: Int) {
    if presenceBytes <= bound { return }
    let end = bound - min(bound / 16, Limits.presencesInRoomsStep)
    while presenceBytes > end {
      let before = presenceBytes
      for user in usersWithMost() where presenceBytes > end { forgetPresences(of: user, downTo: end) }
      if presenceBytes == before { break }
    }
  }

  private mutating func forgetPresences(of user: UserID, downTo end: Int) {
    for room in shown[user]?.rooms ?? [] where presenceBytes > end { occupy(room) { $0.forgetPresences(of: user) } }
    for address in leases(of: user) where presenceBytes > end {
      guard var left = leases[address] else { continue }
      left.presence = left.presence.bare()
      lease(address, left)
    }
  }

  /// Returns `Limits.presencesForgottenAtOnce` users with the most bytes, whoever has most first. A look at all users for each of them
  /// would take a second where a hundred thousand say little each.
  private func usersWithMost() -> [UserID] {
    var most: [(user: UserID, bytes: Int)] = []
    for (user, each) in shown where each.bytes > 0 {
      let isFull = most.count == Limits.presencesForgottenAtOnce
      if isFull, let least = most.last, each.bytes <= least.bytes { continue }
      if isFull { most.removeLast() }
      most.insert((user, each.bytes), at: most.firstIndex { $0.bytes < each.bytes } ?? most.endIndex)
    }
    return most.map { $0.user }
  }

  /// Notes a room that has become temporary, maybe without occupants.
  mutating func noteLeft(_ room: DialogID) { left.append(room) }

  mutating func takeLeft() -> [DialogID] {
    if left.isEmpty { return [] }
    defer { left = [] }
    return left
  }

  /// Counts a temporary room that a user makes. Returns the seconds to wait; `nil` if they may make it.
  mutating func wait(toMakeTemporary user: UserID, now: Timestamp) -> Int? {
    let rate = Limits.temporaryRoomRate
    Self.sweep(&makers, at: &makersSwept, rate, now: now)
    if formerMakers[user] == nil { formerMakers[user] = .some(makers[user]) }
    return makers[user, default: TokenBucket(rate, now: now)].take(rate, now: now)
  }

  /// Counts a lasting room that a user makes. Returns the seconds to wait; `nil` if they may make it.
  mutating func wait(toMakeLasting user: UserID, now: Timestamp) -> Int? {
    let rate = Limits.lastingRoomRate
    Self.sweep(&founders, at: &foundersSwept, rate, now: now)
    if formerFounders[user] == nil { formerFounders[user] = .some(founders[user]) }
    return founders[user, default: TokenBucket(rate, now: now)].take(rate, now: now)
  }

  /// Counts a user's entrance into a room, or change of nick in it. Returns the seconds to wait; `nil` if the user may do so.
  mutating func wait(toEnter room: DialogID, as user: UserID, now: Timestamp) -> Int? {
    let rate = Limits.entranceRate
    Self.sweep(&entrances, at: &entrancesSwept, rate, now: now)
    let seat = Seat(room: room, user: user)
    if formerEntrances[seat] == nil { formerEntrances[seat] = .some(entrances[seat]) }
    return entrances[seat, default: TokenBucket(rate, now: now)].take(rate, now: now)
  }

  /// Counts the nick under which a user without voice is shown, if it is another than before.
  ///
  /// - Parameters:
  ///   - nick: the nick as it is shown: also one that differs only in case is announced to all.
  ///   - last: the present nick; `nil` if the user enters.
  /// - Returns: the seconds to wait; `nil` if the user may be shown under it.
  mutating func wait(
    toBeShownAs nick: String, after last: String?, in room: DialogID, as user: UserID, now: Timestamp
  ) -> Int? {
    visit(room, as: user, now: now) { visit in
      if let before = visit.nick ?? last?.hashValue, before != nick.hashValue {
        if let seconds = visit.nicks.take(Limits.visitorRate, now: now) { return seconds }
      }
      visit.nick = nick.hashValue
      return nil
    }
  }

  /// Counts a request for voice. Returns the seconds to wait; `nil` if the user may ask.
  mutating func wait(toAskForVoiceIn room: DialogID, as user: UserID, now: Timestamp) -> Int? {
    visit(room, as: user, now: now) { $0.requests.take(Limits.visitorRate, now: now) }
  }

  private mutating func visit(
    _ room: DialogID, as user: UserID, now: Timestamp, _ body: (inout Visit) -> Int?
  ) -> Int? {
    if visits.count >= visitsSwept {
      visits = visits.filter { !$0.value.isOver(now: now) }
      visitsSwept = max(Limits.cachedUsersMax, 2 * visits.count)
    }
    let seat = Seat(room: room, user: user)
    if formerVisits[seat] == nil { formerVisits[seat] = .some(visits[seat]) }
    return body(&visits[seat, default: Visit(now: now)])
  }

  /// Removes the buckets that are the same as new ones once there are `size`. The next sweep is due when their number has
  /// doubled: otherwise each call would look at all of them as long as most are not full.
  static func sweep<Key>(_ buckets: inout [Key: TokenBucket], at size: inout Int, _ rate: Rate, now: Timestamp) {
    if buckets.count < size { return }
    buckets = buckets.filter { entry in
      var bucket = entry.value
      return !bucket.isFull(rate, now: now)
    }
    size = max(Limits.cachedUsersMax, 2 * buckets.count)
  }

  mutating func setPresent(_ session: SessionID, of user: UserID, in room: DialogID, _ isThere: Bool) {
    moved[session] = user
    if formerRooms[session] == nil { formerRooms[session] = roomsBySession[session] ?? [] }
    // The set is changed in place: a copy for each of a thousand rooms that a resumed session takes over is longer than all the rest.
    if isThere {
      roomsBySession[session, default: []].insert(room)
    } else {
      roomsBySession[session]?.remove(room)
      if roomsBySession[session]?.isEmpty == true { roomsBySession[session] = nil }
    }
  }

  /// Returns in how many rooms each session is whose number has changed since the last call, or may have.
  mutating func takeRoomCounts() -> [(session: SessionID, user: UserID, count: Int)] {
    if moved.isEmpty { return [] }
    defer { moved = [:] }
    return moved.map { ($0.key, $0.value, rooms(of: $0.key).count) }
  }

  mutating func lease(_ address: BareJID, _ lease: Lease?) {
    if formerLeases[address] == nil { formerLeases[address] = .some(leases[address]) }
    put(lease, at: address)
  }

  func leases(of user: UserID) -> Set<BareJID> { leased[user] ?? [] }

  private mutating func put(_ lease: Lease?, at address: BareJID) {
    if let before = leases[address] {
      let user = before.party.id
      leased[user]?.remove(address)
      if leased[user]?.isEmpty == true { leased[user] = nil }
      countPresences(-before.presence.byteCount, of: user)
    }
    leases[address] = lease
    if let lease {
      leased[lease.party.id, default: []].insert(address)
      countPresences(lease.presence.byteCount, of: lease.party.id)
    }
  }

  // MARK: Slow rooms

  func lastSaid(_ user: UserID, in room: DialogID) -> Timestamp? { paces[room]?.said[user] }

  mutating func said(_ user: UserID, in room: DialogID, at time: Timestamp, seconds: Int) {
    formerlySaid.append((room, user, lastSaid(user, in: room)))
    paces[room, default: RoomRate()].said[user] = time
    guard let pace = paces[room], pace.said.count >= pace.full else { return }
    let waiting = pace.said.filter { time < $0.value + .seconds(seconds) }
    paces[room] = RoomRate(said: waiting, full: max(64, 2 * waiting.count))
  }

  /// Ends slow mode in a room.
  mutating func hurry(_ room: DialogID) {
    guard let pace = paces.removeValue(forKey: room) else { return }
    for (user, time) in pace.said { formerlySaid.append((room, user, time)) }
  }

  // MARK: The batch

  /// Forgets the undo notes, as the batch is durable.
  mutating func settled() {
    formerly.removeAll(keepingCapacity: true)
    formerRooms.removeAll(keepingCapacity: true)
    formerLeases.removeAll(keepingCapacity: true)
    formerlySaid.removeAll(keepingCapacity: true)
    formerEntrances.removeAll(keepingCapacity: true)
    formerMakers.removeAll(keepingCapacity: true)
    formerVisits.removeAll(keepingCapacity: true)
    formerFounders.removeAll(keepingCapacity: true)
    lookedAt.removeAll(keepingCapacity: true)
  }

  mutating func rollBack() {
    for (room, change) in formerly.reversed() {
      var occupants = present.removeValue(forKey: room) ?? Occupants()
      occupants.undo(change)
      countPresences(change.now, change.was, in: room)
      if !occupants.isEmpty { present[room] = occupants }
    }
    for (session, rooms) in formerRooms { roomsBySession[session] = rooms.isEmpty ? nil : rooms }
    for (address, lease) in formerLeases { put(lease, at: address) }
    for (room, user, time) in formerlySaid.reversed() { paces[room, default: RoomRate()].said[user] = time }
    for (user, maker) in formerMakers { makers[user] = maker }
    for (user, founder) in formerFounders { founders[user] = founder }
    formerly = []
    formerRooms = [:]
    formerLeases = [:]
    formerlySaid = []
    for (seat, bucket) in formerEntrances { entrances[seat] = bucket }
    formerEntrances = [:]
    formerMakers = [:]
    for (seat, visit) in formerVisits { visits[seat] = visit }
    formerVisits = [:]
    formerFounders = [:]
    left = []
    dirty = []
    for room in lookedAt { lookCount -= looks.removeValue(forKey: room)?.count ?? 0 }
    lookedAt = []
    // What was read may have been changed by the batch. A room is noted again when somebody uses it.
    reading = nil
    unread = []
    forget()
  }

  /// Drops the cache of stored rows.
  mutating func forget() {
    forgetRooms()
    forgetMemberships()
  }

  mutating func forgetRooms() {
    for state in states.values { state.isCached = false }
    states = [:]
    numbers = [:]
    bytes = 0
  }

  mutating func forgetMemberships() { memberships.removeAll() }

  mutating func forgetLooks() {
    looks = [:]
    lookCount = 0
  }
}
