/// What the core promises, said again as simply as possible: a list of events, and rules that look at all of it. It knows
/// nothing of how the core does it, of batches, caches, counters or pages. Positions are those that the core has answered with.
struct Model {
  enum Place: Hashable {
    /// The lower number first.
    case pair(Int, Int)
    case room(Int)

    init(_ user: Int, _ chat: Chat) {
      switch chat {
      case .user(let peer): self = .pair(min(user, peer), max(user, peer))
      case .room(let room): self = .room(room)
      }
    }
    func has(_ user: Int) -> Bool? { if case .pair(let a, let b) = self { user == a || user == b } else { nil } }
    func peer(of user: Int) -> Int? {
      if case .pair(let a, let b) = self { user == a ? b : user == b ? a : nil } else { nil }
    }
  }

  enum Subject: Hashable { case message(Int), change(of: Int, text: Int?), marker, notice }

  /// An entry of the log, and who is told of it.
  struct Event {
    let position: Int64
    let place: Place
    let author: Int
    let subject: Subject
    let audience: Set<Int>
    /// Whose own feed has it, whatever becomes of their membership.
    let owners: Set<Int>
  }

  struct Message {
    let number: Int
    let place: Place
    let author: Int
    let position: Int64
    /// The numbers of the messages whose text it has said first, and says now.
    let said: Int
    var text: Int
    var isRetracted = false
    /// It has gone by its age.
    var isGone = false
    var reactions: Set<Int> = []
  }

  struct Person {
    var affiliation: RoomAffiliation
    /// What is behind this position came after they did.
    var since: Int64
    var isKicked = false
  }

  struct Room {
    let isOpen: Bool
    var sinceJoin: Bool
    var isReadOnly = false
    var isDestroyed = false
    var people: [Int: Person] = [:]
    var seats: [Int: Set<Door>] = [:]

    func affiliation(_ user: Int) -> RoomAffiliation { people[user]?.affiliation ?? .none }
    var members: Set<Int> { Set(people.filter { $0.value.affiliation.isMember }.keys) }
    func isThere(_ user: Int) -> Bool { !(seats[user] ?? []).isEmpty }
  }

  struct Key: Hashable {
    let user: Int
    let place: Place
    var id = 0
  }

  private(set) var events: [Event] = []
  var messages: [Int: Message] = [:]
  private(set) var rooms: [Int: Room] = [:]
  private(set) var displayed: [Key: Int64] = [:]
  /// What each XMPP session has heard since it came.
  private(set) var heard: [Int: [Int64]] = [:]
  /// The positions of what has gone by its age, and of what was about it.
  var gone: Set<Int64> = []
  var (heldPlaces, heldUsers): (Set<Place>, Set<Int>) = ([], [])
  var cleared: [Key: Int64] = [:]
  var hidden: [Int: Set<Int>] = [:]
  private var blocks: [Int: Set<Int>] = [:]
  private var online: [Int: Set<Door>] = [:]
  /// The last message with this id.
  var ids: [Key: Int] = [:]

  // MARK: What is expected of a post

  enum Expectation: Hashable {
    case accepted, refused
    /// What is there already.
    case again(Int64?)
  }

  func expectation(of action: Action) -> Expectation {
    switch action {
    case .say(let user, let door, let chat, let number):
      return posting(user, door, Place(user, chat), id: number, text: number)
    case .forward(let user, let target, let chat, let number):
      let place = Place(user, chat)
      guard let target = messages[target], reads(user, target), !target.isRetracted else { return .refused }
      return posting(user, .app, place, id: number, text: number)
    case .change(let user, let door, let change, let target, let number):
      guard let target = messages[target] else { return .refused }
      let access = posting(user, door, target.place, id: number, text: number)
      return access == .accepted && door == .app && !may(user, change, target) ? .refused : access
    case .mark(let user, let mark, let target):
      guard let target = messages[target], !target.isGone else { return .refused }
      switch target.place {
      case .pair(let a, let b): return mark != .displayedPrivately && areBlocked(a, b) ? .refused : .accepted
      case .room(let room):
        return rooms[room]?.isDestroyed == false && rooms[room]?.affiliation(user).isMember == true
          ? .accepted : .refused
      }
    case .hide(let user, let target):
      guard let target = messages[target] else { return .refused }
      // What the user has cleared is hidden, whether it is there or not.
      if target.isGone, !isCleared(target, for: user) { return .refused }
      if isHidden(target, from: user) { return .again(nil) }
      return reads(user, target) ? .accepted : .refused
    case .clear(let user, let chat):
      guard case .room(let room) = Place(user, chat) else { return .accepted }
      return rooms[room]?.isDestroyed == false && rooms[room]?.affiliation(user).isMember == true ? .accepted : .refused
    case .create(_, let room, _, _): return rooms[room] == nil ? .accepted : .refused
    case .affiliate(let actor, let user, let affiliation, let room):
      return known(room, to: actor).map { affiliating(actor, user, affiliation, $0) } ?? .refused
    case .join(let user, let room):
      guard let room = known(room, to: user), room.affiliation(user) != .outcast else { return .refused }
      if room.affiliation(user).isMember { return room.people[user]?.isKicked == true ? .accepted : .again(nil) }
      return room.isOpen ? .accepted : .refused
    case .enter(let user, let room):
      guard let room = rooms[room], !room.isDestroyed else { return .refused }
      if room.seats[user]?.contains(.xmpp) == true { return .accepted }
      return room.affiliation(user) != .outcast && (room.isOpen || room.affiliation(user).isMember)
        ? .accepted : .refused
    case .exit(let user, let room):
      return rooms[room]?.seats[user]?.contains(.xmpp) == true ? .accepted : .refused
    case .kick(let actor, let user, let room):
      guard let room = known(room, to: actor), room.affiliation(actor) >= .admin, room.isThere(user) else {
        return .refused
      }
      return room.affiliation(user) <= room.affiliation(actor) ? .accepted : .refused
    case .configure(let user, let room, let sinceJoin, let isReadOnly):
      guard let room = known(room, to: user), room.affiliation(user) >= .admin else { return .refused }
      if room.sinceJoin == sinceJoin, room.isReadOnly == isReadOnly { return .again(nil) }
      return room.affiliation(user) == .owner ? .accepted : .refused
    case .destroy(let user, let room):
      return known(room, to: user)?.affiliation(user) == .owner ? .accepted : .refused
    case .come, .go, .block, .unblock, .expire, .age, .holdDialog, .holdUser, .release: return .accepted
    case .again, .reuse, .stall, .resume, .lag, .catchUp, .fetch, .show, .wait, .commit, .fail, .restart, .crash:
      return .refused
    }
  }

  /// Whether the user may post there, and whether they have posted it already.
  private func posting(_ user: Int, _ door: Door, _ place: Place, id: Int, text: Int) -> Expectation {
    switch place {
    case .pair(let a, let b): if areBlocked(a, b) { return .refused }
    case .room(let room):
      guard let room = rooms[room], !room.isDestroyed else { return .refused }
      let isIn = door == .xmpp ? room.seats[user]?.contains(.xmpp) == true : room.isThere(user)
      guard isIn || door == .app && room.affiliation(user).isMember else { return .refused }
    }
    if let known = ids[Key(user: user, place: place, id: id)].flatMap({ messages[$0] }) {
      if known.number == text { return .again(known.position) }
      if door == .app { return .refused }
    }
    if case .room(let number) = place, let room = rooms[number] {
      if room.isReadOnly, room.affiliation(user) < .admin { return .refused }
      if !room.isThere(user) { return room.people[user]?.isKicked == true ? .refused : .accepted }
    }
    return .accepted
  }

  func reposting(_ action: Action, as text: Int) -> Expectation {
    guard case .say(let user, let door, let chat, let id) = action else { return .refused }
    return posting(user, door, Place(user, chat), id: id, text: text)
  }

  private func areBlocked(_ a: Int, _ b: Int) -> Bool {
    blocks[a]?.contains(b) == true || blocks[b]?.contains(a) == true
  }

  private func may(_ user: Int, _ change: Change, _ target: Message) -> Bool {
    if target.isRetracted || target.isGone { return false }
    switch change {
    case .reply, .react: return true
    case .edit: return target.author == user && target.said == target.number
    case .retract: return target.author == user
    case .moderate:
      guard case .room(let room) = target.place else { return false }
      return (rooms[room]?.affiliation(user) ?? .none) >= .admin
    }
  }

  /// A closed room is not there for those who have nothing to do with it.
  private func known(_ number: Int, to user: Int) -> Room? {
    guard let room = rooms[number], !room.isDestroyed else { return nil }
    return room.isOpen || room.affiliation(user).isMember || room.isThere(user) ? room : nil
  }

  private func affiliating(_ actor: Int, _ user: Int, _ now: RoomAffiliation, _ room: Room) -> Expectation {
    let (mine, was) = (room.affiliation(actor), room.affiliation(user))
    if actor == user, now < was {
      if now == .outcast { return .refused }
    } else if actor == user, now == was, was.isMember {
      return .again(nil)
    } else {
      guard mine == .owner || mine == .admin && was < .admin && now < .admin else { return .refused }
    }
    if now.isMember, !was.isMember, blocks[user]?.contains(actor) == true { return .refused }
    let owners = room.people.filter { $0.value.affiliation == .owner }
    if now != .owner, owners.count == 1, owners[user] != nil { return .refused }
    return now == was ? .again(nil) : .accepted
  }

  // MARK: What users see

  /// Whether the message is the user's to read: they are in its dialog, it was not before their time where the room says so,
  /// and they have not deleted it for themselves.
  func reads(_ user: Int, _ message: Message) -> Bool {
    if isHidden(message, from: user) { return false }
    if let has = message.place.has(user) { return has }
    guard case .room(let number) = message.place, let room = rooms[number], !room.isDestroyed,
      let person = room.people[user], person.affiliation.isMember
    else { return false }
    return !room.sinceJoin || message.position > person.since
  }

  /// Whether the message is to be read by a user who is in its room: others than members read all of an open room's history,
  /// and nothing where it begins for each with joining.
  func readsInside(_ user: Int, _ message: Message) -> Bool {
    if reads(user, message) { return true }
    guard case .room(let number) = message.place, let room = rooms[number], !room.isDestroyed else { return false }
    return !room.sinceJoin && room.affiliation(user) == .none && !isHidden(message, from: user)
  }

  /// Counted anew among all that was said in the place; nil: the user has no part in it.
  func unread(_ user: Int, in place: Place, _ said: [Message]) -> Int? {
    guard let since = since(user, in: place) else { return nil }
    let end = max(since, displayed[Key(user: user, place: place)] ?? 0)
    return said.count {
      $0.author != user && $0.position > end && !$0.isRetracted && !isHidden($0, from: user)
    }
  }

  /// Behind which position the user follows a place; nil: they do not.
  func since(_ user: Int, in place: Place) -> Int64? {
    guard case .room(let number) = place else { return place.has(user) == true ? 0 : nil }
    guard let room = rooms[number], !room.isDestroyed, let person = room.people[user], person.affiliation.isMember
    else {
      return nil
    }
    return person.since
  }

  /// Everybody who is told anything, and one user who is not.
  var users: Range<Int> { 0..<min(Database.usersMax, (events.compactMap { $0.audience.max() }.max() ?? 0) + 2) }

  /// Returns a user whose unread count an action changes, and the place; `nil` for none.
  func reading(by action: Action) -> (user: Int, place: Place)? {
    switch action {
    case .mark(let user, _, let target), .hide(let user, let target), .age(let user, let target):
      messages[target].map { (user, $0.place) }
    case .expire(let target, _): messages[target].map { ($0.author, $0.place) }
    case .clear(let user, let chat): (user, Place(user, chat))
    case .change(_, _, .retract, let target, _), .change(_, _, .moderate, let target, _):
      messages[target].flatMap { message in
        reader(of: message).map { (user: $0, place: message.place) }
      }
    default: nil
    }
  }

  /// Returns a user for whom a message may be unread.
  private func reader(of message: Message) -> Int? {
    if case .room(let room) = message.place { return rooms[room]?.members.filter { $0 != message.author }.min() }
    return message.place.peer(of: message.author)
  }

  /// In how many places somebody has said something.
  var conversations: Int { Set(messages.values.map(\.place)).count }

  /// What is wrong with what a follower of the user has been told behind a position; nil: nothing.
  func violation(ofTold told: [Int64], to user: Int, after start: Int64) -> String? {
    var next = told.startIndex
    for event in events where event.position > start {
      let isTold = next < told.endIndex && told[next] == event.position
      if isTold {
        next += 1
        if !event.audience.contains(user) { return "user \(user) was told \(event), which is not theirs" }
      } else if event.audience.contains(user), event.subject != .marker, !gone.contains(event.position),
        event.owners.contains(user)
          || since(user, in: event.place).map({ event.position > $0 }) ?? false
      {
        return "user \(user) was not told \(event), but \(told[next...].prefix(3))"
      }
    }
    return next == told.endIndex ? nil : "user \(user) was told \(told[next...].prefix(3)), out of order or twice"
  }

  // MARK: What happens

  /// - Returns: what is wrong with the answer; nil: nothing.
  mutating func settle(_ action: Action, _ answer: Answer, text: Int? = nil) -> String? {
    let expected = text.map { reposting(action, as: $0) } ?? expectation(of: action)
    switch (answer, expected) {
    case (.failed, _), (.refused, .refused): return nil
    case (.done(_, let isRepeat, let position), .again(let first)) where first == nil || isRepeat && position == first:
      return nil
    case (.done(let head, false, let position), .accepted): return apply(action, text, position ?? head)
    case (.done(_, true, _), .accepted):
      // A marker that moves nothing.
      if case .mark = action { return apply(action, text, nil) }
      return "\(action) was taken for a repeat"
    default: return "\(action): expected was \(expected), the answer is \(answer)"
    }
  }

  /// - Parameter position: of the entry, where one was written.
  private mutating func apply(_ action: Action, _ text: Int?, _ position: Int64?) -> String? {
    let at = position ?? 0
    switch action {
    case .say(let user, let door, let chat, let id):
      let place = Place(user, chat)
      let number = text ?? id
      ids[Key(user: user, place: place, id: id)] = number
      return insert(user, door, place, number, at: at)
    case .forward(let user, let target, let chat, let number):
      return insert(user, .app, Place(user, chat), number, said: messages[target]?.text, at: at)
    case .change(let user, let door, let change, let target, let number):
      guard let message = messages[target] else { return nil }
      // To XMPP clients what has no effect is a message like any other.
      if change == .reply || !may(user, change, message) { return insert(user, door, message.place, number, at: at) }
      switch change {
      case .reply: break
      case .edit: messages[target]?.text = number
      case .react: messages[target]?.reactions.insert(user)
      case .retract, .moderate:
        messages[target]?.isRetracted = true
        messages[target]?.reactions = []
      }
      return append(user, message.place, .change(of: target, text: change == .edit ? number : nil), door, at: at)
    case .mark(let user, let mark, let target):
      guard let message = messages[target] else { return nil }
      let key = Key(user: user, place: message.place)
      if mark != .delivered { displayed[key] = max(displayed[key] ?? 0, message.position) }
      let isPrivate = mark == .displayedPrivately
      return position == nil
        ? nil : append(user, message.place, .marker, at: at, audience: isPrivate ? [user] : nil, isHeard: !isPrivate)
    case .hide(let user, let target): hidden[user, default: []].insert(target)
    case .clear(let user, let chat):
      let key = Key(user: user, place: Place(user, chat))
      guard
        let last = events.last(where: { $0.place == key.place && $0.isShown && !gone.contains($0.position) })?.position
      else { return nil }
      cleared[key] = last
      // What was deleted one by one before goes with the rest, and ends with the room.
      hidden[user]?.subtract(messages.values.filter { $0.place == key.place && $0.position <= last }.map(\.number))
      displayed[key] = max(displayed[key] ?? 0, last)
    case .block(let user, let other): blocks[user, default: []].insert(other)
    case .unblock(let user, let other): blocks[user]?.remove(other)
    case .come(let user, let door):
      online[user, default: []].insert(door)
      if door == .xmpp { heard[user] = [] } else { rooms.keys.forEach { seatApp(user, in: $0) } }
    case .go(let user, let door):
      online[user]?.remove(door)
      for room in rooms.keys { rooms[room]?.seats[user]?.remove(door) }
    case .create(let user, let room, let isOpen, let sinceJoin):
      rooms[room] = Room(
        isOpen: isOpen, sinceJoin: sinceJoin, people: [user: Person(affiliation: .owner, since: at - 1)])
      seatApp(user, in: room)
      return append(user, .room(room), .notice, at: at)
    case .affiliate(let actor, let user, let affiliation, let room):
      return affiliate(actor, user, affiliation, room, at: at)
    case .join(let user, let room):
      if rooms[room]?.affiliation(user).isMember != true { return affiliate(user, user, .member, room, at: at) }
      return readmit(user, room, at: at)
    case .enter(let user, let room):
      defer { rooms[room]?.seats[user, default: []].insert(.xmpp) }
      if rooms[room]?.people[user]?.isKicked == true { return readmit(user, room, at: at) }
    case .exit(let user, let room): rooms[room]?.seats[user]?.remove(.xmpp)
    case .kick(let actor, let user, let room):
      rooms[room]?.seats[user] = []
      guard let person = rooms[room]?.people[user], person.affiliation.isMember, !person.isKicked else { return nil }
      rooms[room]?.people[user]?.isKicked = true
      return append(actor, .room(room), .notice, at: at)
    case .configure(let user, let room, let sinceJoin, let isReadOnly):
      rooms[room]?.sinceJoin = sinceJoin
      rooms[room]?.isReadOnly = isReadOnly
      return append(user, .room(room), .notice, at: at)
    case .destroy(let user, let room):
      let members = rooms[room]?.members ?? []
      rooms[room]?.seats = [:]
      rooms[room]?.isDestroyed = true
      for member in members { forget(member, .room(room)) }
      cleared = cleared.filter { $0.key.place != .room(room) }
      return append(user, .room(room), .notice, at: at, audience: members, owners: members)
    case .expire(let target, _): if let target = messages[target] { expire(target.place, through: target.position) }
    case .age(let user, let target): if let target = messages[target] { age(target, for: user) }
    case .holdDialog(let target): if let place = messages[target]?.place { heldPlaces.insert(place) }
    case .holdUser(let user): heldUsers.insert(user)
    case .release: (heldPlaces, heldUsers) = ([], [])
    case .again, .reuse, .stall, .resume, .lag, .catchUp, .fetch, .show, .wait, .commit, .fail, .restart, .crash: break
    }
    return nil
  }

  /// All sessions end with the process.
  mutating func restarted() {
    online = [:]
    for room in rooms.keys { rooms[room]?.seats = [:] }
  }

  private mutating func insert(
    _ user: Int, _ door: Door, _ place: Place, _ number: Int, said: Int? = nil, at position: Int64
  ) -> String? {
    messages[number] = Message(
      number: number, place: place, author: user, position: position, said: said ?? number, text: said ?? number)
    return append(user, place, .message(number), door, at: position)
  }

  private mutating func affiliate(
    _ actor: Int, _ user: Int, _ now: RoomAffiliation, _ number: Int, at position: Int64
  ) -> String? {
    guard var room = rooms[number] else { return nil }
    let before = room.members
    let was = room.affiliation(user)
    let isMove = was.isMember != now.isMember
    var person = room.people[user] ?? Person(affiliation: was, since: position)
    if isMove { person = Person(affiliation: was, since: position) }
    person.affiliation = now
    room.people[user] = person
    rooms[number] = room
    let violation = append(
      actor, .room(number), .notice, at: position, audience: before.union(room.members), owners: isMove ? [user] : [])
    if now == .outcast || !room.isOpen && !now.isMember {
      rooms[number]?.seats[user] = []
    } else if !now.isMember {
      rooms[number]?.seats[user]?.remove(.app)
    }
    if isMove { now.isMember ? seatApp(user, in: number) : forget(user, .room(number)) }
    return violation
  }

  private mutating func readmit(_ user: Int, _ room: Int, at position: Int64) -> String? {
    rooms[room]?.people[user]?.isKicked = false
    let violation = append(user, .room(room), .notice, at: position)
    seatApp(user, in: room)
    return violation
  }

  /// A member's app session is there as long as it is connected.
  private mutating func seatApp(_ user: Int, in number: Int) {
    guard online[user]?.contains(.app) == true, let room = rooms[number], !room.isDestroyed,
      let person = room.people[user], person.affiliation.isMember, !person.isKicked
    else { return }
    rooms[number]?.seats[user, default: []].insert(.app)
  }

  /// With the membership goes what the user had there of their own.
  private mutating func forget(_ user: Int, _ place: Place) {
    displayed[Key(user: user, place: place)] = nil
  }

  private mutating func append(
    _ author: Int, _ place: Place, _ subject: Subject, _ door: Door? = nil, at position: Int64,
    audience: Set<Int>? = nil, owners: Set<Int> = [], isHeard: Bool = true
  ) -> String? {
    if let last = events.last, position <= last.position {
      return "\(subject) by user \(author) stands at \(position), before what was posted earlier, at \(last.position)"
    }
    let everybody: Set<Int>
    switch place {
    case .pair(let a, let b):
      everybody = [a, b]
      for user in everybody where online[user]?.contains(.xmpp) == true && subject != .marker {
        if user != author || door != .xmpp { heard[user, default: []].append(position) }
      }
    case .room(let number):
      everybody = rooms[number]?.members ?? []
      for (user, doors) in rooms[number]?.seats ?? [:] where doors.contains(.xmpp) && isHeard {
        heard[user, default: []].append(position)
      }
    }
    events.append(
      Event(
        position: position, place: place, author: author, subject: subject, audience: audience ?? everybody,
        owners: owners))
    return nil
  }
}

extension Model.Event {
  /// It stands among the messages of its place.
  var isShown: Bool {
    switch subject {
    case .message, .notice: true
    case .change, .marker: false
    }
  }
}

/// How the core has answered a post.
enum Answer {
  /// `head`: where the log ended when it was done; `entry`: what it wrote, or has written the first time.
  case done(head: Int64, isRepeat: Bool, entry: Int64?)
  case refused(String)
  /// The store has failed: nothing of it may remain.
  case failed
}
