import Addresses
import Basics
import Testing

@testable import Dialogs
@testable import XMPPDoor

/// What a session is told while it arrives, lags, moves to another event loop, is replaced, and enters rooms: every
/// order in which commits, tellings, deliveries, pages and handovers can happen, for small cases, and very many chosen
/// by a seed for larger ones.
///
/// The session's values are the real ones (`StreamCursor`, `JoinedRooms`); what is around them is as small as it can
/// be, and goes on by single steps. That the check can fail is shown by what the server once did (`Defect`).
@Suite struct InterleavingTests {
  @Test func everyOrderOfAnArrival() {
    let runs = Odometer.walk(most: 400_000) { World.run(.arrival, $0) }
    #expect(runs.violations == [])
    #expect(runs.isComplete && runs.count > 10_000)
  }

  @Test func everyOrderOfAResumption() {
    let runs = Odometer.walk(most: 400_000) { World.run(.resumption, $0) }
    #expect(runs.violations == [])
    #expect(runs.isComplete && runs.count > 10_000)
  }

  @Test func everyOrderOfEnteringARoomAgain() {
    let runs = Odometer.walk(most: 400_000) { World.run(.room, $0) }
    #expect(runs.violations == [])
    #expect(runs.isComplete && runs.count > 1_000)
  }

  @Test func everyOrderOfArrivingAndEntering() {
    let runs = Odometer.walk(most: 400_000) { World.run(.entering, $0) }
    #expect(runs.violations == [])
    #expect(runs.isComplete && runs.count > 10_000)
  }

  /// A hundred thousand orders of up to a hundred steps, in ten parts.
  @Test(arguments: 0..<10) func manyOrdersOfEverything(part: UInt64) {
    var violations: [String] = []
    for seed in part * 10_000..<(part + 1) * 10_000 {
      if let violation = World.run(.everything, Dice(seed: seed)) { violations.append("seed \(seed): \(violation)") }
    }
    #expect(violations.prefix(3) == [])
  }

  @Test(arguments: Defect.allCases) func injectedDefectsAreFound(defect: Defect) {
    let found = (0..<20_000).lazy.compactMap {
      World.run(.everything, Dice(seed: $0), defect) ?? World.run(.arrival, Dice(seed: $0), defect)
        ?? World.run(.entering, Dice(seed: $0), defect)
    }.first
    #expect(found != nil)
  }
}

/// Chooses among so many steps.
protocol Chooser {
  mutating func choose(_ count: Int) -> Int
  /// Whether runs have no end of their own and need a bounded length; of a small case every step is taken.
  var isEndless: Bool { get }
}

/// A generator that gives the same numbers every time.
struct Dice: Chooser {
  private var state: UInt64
  let isEndless = true
  init(seed: UInt64) { state = (seed &+ 1) &* 0x9e37_79b9_7f4a_7c15 | 1 }
  mutating func choose(_ count: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(truncatingIfNeeded: (state >> 11) % UInt64(count))
  }
}

/// Takes every path through a tree of choices, one a run, as an odometer counts.
final class Odometer: Chooser {
  private var path: [(choice: Int, count: Int)] = []
  private var depth = 0
  let isEndless = false

  func choose(_ count: Int) -> Int {
    defer { depth += 1 }
    if depth == path.count { path.append((0, count)) }
    return path[depth].choice
  }

  /// False: all paths have been taken.
  private func advance() -> Bool {
    depth = 0
    while let last = path.popLast() {
      if last.choice + 1 < last.count {
        path.append((last.choice + 1, last.count))
        return true
      }
    }
    return false
  }

  static func walk(
    most: Int, _ run: (Odometer) -> String?
  ) -> (count: Int, isComplete: Bool, violations: [String]) {
    let odometer = Odometer()
    var violations: [String] = []
    for count in 1...most {
      if let violation = run(odometer) { violations.append(violation) }
      if violations.count > 3 { return (count, false, violations) }
      if !odometer.advance() { return (count, true, violations) }
    }
    return (most, false, violations)
  }
}

/// A former defect of the server.
enum Defect: CaseIterable, Sendable {
  /// A delivery is sent without a check of its position.
  case ignoresPositions
  /// The session moves when its client asks for it, and its deliveries are sent after it.
  case movesAtOnce
  /// An empty page ends the reading, even if entries were committed meanwhile.
  case forgetsWhatIsHeld
  /// A page that was requested before a room was entered skips the messages of that room.
  case forgetsNewRooms
  /// A page is sent in whichever visit it arrives.
  case mixesVisits
}

/// A log, a committer, a store and two event loops, with one session of one user. Every step is one thing that happens.
struct World<Choice: Chooser> {
  struct Plan {
    /// The maximum number of messages in all.
    var said: Int
    var kinds: [Kind]
    var resumptions = 0
    var replacements = 0
    var visits = 0
    var lags = 0
    /// Messages of before.
    var offline = 0
    var comesAvailable = true
    var carbons = false
    /// The session stands when the steps begin and, where nothing but a room is talked in, has just entered that.
    var isThere = false
    /// Whether deliveries arrive at once.
    var hasNoMailboxes = false

    static var arrival: Plan { Plan(said: 2, kinds: [.message, .copy], offline: 1) }
    static var resumption: Plan { Plan(said: 4, kinds: [.copy], resumptions: 1, comesAvailable: false, isThere: true) }
    /// A room is entered while offline messages are read.
    static var entering: Plan {
      Plan(said: 2, kinds: [.room], visits: 1, offline: 1, isThere: true, hasNoMailboxes: true)
    }
    static var room: Plan {
      Plan(said: 3, kinds: [.room], visits: 2, comesAvailable: false, isThere: true, hasNoMailboxes: true)
    }
    static var everything: Plan {
      Plan(
        said: 14, kinds: Kind.allCases, resumptions: 3, replacements: 1, visits: 3, lags: 2, offline: 3, carbons: true)
    }
  }

  enum Kind: CaseIterable {
    /// A message to the user, delivered live to an available session, and by the replay.
    case message
    /// A message to the session's full address, delivered to it at once.
    case exact
    /// A message that the user sends from another session, and the like: delivered live, and not by the replay.
    case copy
    case room
  }

  /// The deliveries of the committer, in order.
  private enum News {
    case entry(Entry, Kind)
    case attended(Int, at: Position)
    case handedOver(Int)
    case entered(Position)
    case left
  }

  /// The deliveries in the mailbox of a session's handle.
  private enum Mail {
    case entry(Entry, Form)
    case attended(Position)
    case handedOver(to: Int)
    case entered(Position)
    case left
    case closed
  }

  private enum Page {
    case log(after: Position, rooms: [FollowedRoom])
    case replay(after: Position, log: Position, rooms: [FollowedRoom])
    case history(visit: Int, upTo: Position)
    case room(visit: Int, after: Position)
  }

  private enum Answer {
    case log(LogPage, rooms: [FollowedRoom])
    case replay([Entry], isFull: Bool, log: LogPage, head: Position, rooms: [FollowedRoom])
    case history(visit: Int, upTo: Position, [Entry])
    case room(visit: Int, LogPage)
  }

  private enum Step {
    case say(Kind), tell, deliver(Int), read(Int), giveBack(Int), comeAvailable, lag, goOn, confirm, resume, replace,
      enter, leave
  }

  private final class Session {
    var cursor = StreamCursor(at: .end, replayed: .end)
    var rooms = JoinedRooms()
    var isAvailable = false
    var pages: [Page] = []
    var answers: [Answer] = []
    var heir: Int?
    var isDue = false
    var stream = Stream()
    var hasAnswered: Bool { pages.isEmpty && answers.isEmpty }
  }

  /// The messages that one stream has received, over its resumptions.
  private struct Stream {
    var attended = Position.zero
    var told: Set<Position> = []
    var last: [Kind: Position] = [:]
    var visit: (number: Int, since: Position, told: Set<Position>, last: Position)?
  }

  private let address: BareJID
  private let room: RoomName
  private let user: Party
  private let defect: Defect?
  private var plan: Plan
  private var choice: Choice

  private var log: [(entry: Entry, kind: Kind)] = []
  private var news: [News] = []
  /// Mailboxes by handle; two loops, so two of them can be drained in any order.
  private var mail: [[Mail]] = []
  /// The handle that the hub delivers to.
  private var handle: Int?
  private var isAvailable = false
  private var seat: Int?
  private var sessions: [Int: Session] = [:]
  private var moved: [Int: Int] = [:]
  private var gone: Set<Int> = []
  private var lags = false
  private var wantsRoom = false
  private var isMoving = false
  private var violation: String?

  init(_ plan: Plan, _ choice: Choice, _ defect: Defect? = nil) {
    // Constants.
    address = BareJID(parsing: "verona@rooms.localhost")!
    room = RoomName(dialog: DialogID(7), realm: RealmID(1), address: address)
    user = Party(id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "juliet@localhost")!)
    self.plan = plan
    self.choice = choice
    self.defect = defect
    for _ in 0..<plan.offline { append(.message) }
    goOnline()
    guard plan.isThere else { return }
    take(.tell)
    deliverAll()
    guard plan.visits == 2 else { return }
    append(.room)
    for step in [Step.enter, .tell] { take(step) }
  }

  private var head: Position { Position(Int64(log.count)) }

  @discardableResult private mutating func append(_ kind: Kind) -> Entry {
    let entry = Entry(
      position: head.next, time: Timestamp(milliseconds: 0), dialog: DialogID(kind == .room ? 7 : 1), author: user,
      place: kind == .room ? .room(room) : .peer(user), fact: .dialogOpened, id: PublicID(high: 0, low: 0))
    log.append((entry, kind))
    return entry
  }

  private func kind(_ entry: Entry) -> Kind { log[Int(entry.position.number) - 1].kind }
  private func isReplayable(_ entry: Entry) -> Bool { kind(entry) == .message || kind(entry) == .exact }

  // MARK: Running

  /// Returns the error; nil if everything was delivered once and in order.
  static func run(_ plan: Plan, _ choice: Choice, _ defect: Defect? = nil) -> String? {
    var world = World(plan, choice, defect)
    return world.run()
  }

  private mutating func run() -> String? {
    var left = choice.isEndless ? 60 : Int.max
    while violation == nil, left > 0 {
      let steps = self.steps
      if steps.isEmpty { break }
      take(steps[choice.choose(steps.count)])
      left -= 1
    }
    // The rest happens in one order.
    plan.said = 0
    plan.resumptions = 0
    plan.replacements = 0
    plan.visits = 0
    plan.lags = 0
    while violation == nil, let step = steps.first(where: { if case .leave = $0 { false } else { true } }) {
      take(step)
    }
    return violation ?? missing
  }

  private var steps: [Step] {
    var steps: [Step] = []
    if plan.said > 0 { steps += plan.kinds.map { .say($0) } }
    if !news.isEmpty { steps.append(.tell) }
    for handle in mail.indices {
      switch mail[handle].first {
      case nil: break
      case .attended?: steps.append(.deliver(handle))
      // Deliveries that arrive before the state wait.
      case _?:
        if sessions[handle] != nil || moved[handle] != nil || gone.contains(handle) { steps.append(.deliver(handle)) }
      }
    }
    for (handle, session) in sessions.sorted(by: { $0.key < $1.key }) {
      if !session.pages.isEmpty { steps.append(.read(handle)) }
      if !session.answers.isEmpty { steps.append(.giveBack(handle)) }
    }
    guard let handle, let session = sessions[handle], !isMoving, session.cursor.log.position != .end else {
      return steps
    }
    if plan.comesAvailable, !session.isAvailable { steps.append(.comeAvailable) }
    if lags { steps.append(.goOn) } else if plan.lags > 0 { steps.append(.lag) }
    if session.cursor.replay == .waiting { steps.append(.confirm) }
    if plan.resumptions > 0 { steps.append(.resume) }
    if plan.replacements > 0 { steps.append(.replace) }
    // The session that was last in the room stays, since messages there must be told to it.
    if plan.visits > 0 { steps.append(wantsRoom ? .leave : .enter) }
    return steps
  }

  private mutating func take(_ step: Step) {
    switch step {
    case .say(let kind):
      plan.said -= 1
      // Now and then more at once than is held.
      let count = choice.isEndless && choice.choose(400) == 0 ? Limits.heldEntriesMax + 5 : 1
      for _ in 0..<count { news.append(.entry(append(kind), kind)) }
    case .tell:
      tell(news.removeFirst())
      if plan.hasNoMailboxes { deliverAll() }
    case .deliver(let handle):
      let mail = self.mail[handle].removeFirst()
      receive(mail, at: handle)
    case .read(let handle):
      guard let page = sessions[handle]?.pages.removeFirst() else { return }
      sessions[handle]?.answers.append(answer(page))
    case .giveBack(let handle):
      guard let answer = sessions[handle]?.answers.removeFirst() else { return }
      take(answer, at: handle)
      if let session = sessions[handle], session.isDue, session.hasAnswered { surrender(handle) }
    case .comeAvailable:
      isAvailable = true
      change { session in
        session.isAvailable = true
        session.cursor.becameAvailable()
      }
      readOn()
    case .lag:
      plan.lags -= 1
      lags = true
    case .goOn:
      lags = false
      readOn()
      readOnRoom()
    case .confirm:
      change { _ = $0.cursor.confirmed($0.cursor.replayed) }
      readOn()
    case .resume:
      plan.resumptions -= 1
      resume()
    case .replace:
      plan.replacements -= 1
      goOnline()
    case .enter:
      plan.visits -= 1
      wantsRoom = true
      news.append(.entered(head))
    case .leave:
      wantsRoom = false
      news.append(.left)
    }
  }

  private func change(_ body: (Session) -> Void) {
    if let handle, let session = sessions[handle] { body(session) }
  }

  // MARK: The committer and the hub

  private mutating func goOnline() {
    mail.append([])
    news.append(.attended(mail.count - 1, at: head))
    isMoving = true
  }

  private mutating func resume() {
    guard let old = handle else { return }
    mail.append([])
    let new = mail.count - 1
    isMoving = true
    lags = false
    if defect == .movesAtOnce {
      sessions[old]?.pages = []
      sessions[old]?.answers = []
      handle = new
      if seat == old { seat = new }
      moved[old] = new
      surrender(old, to: new)
      isMoving = false
      return
    }
    sessions[old]?.heir = new
    news.append(.handedOver(new))
  }

  private mutating func tell(_ item: News) {
    switch item {
    case .entry(let entry, .room): if let seat { mail[seat].append(.entry(entry, .room)) }
    case .entry(let entry, .copy): if let handle { mail[handle].append(.entry(entry, .carbonSent)) }
    case .entry(let entry, .exact): if let handle { mail[handle].append(.entry(entry, .direct)) }
    case .entry(let entry, .message):
      guard let handle else { return }
      if isAvailable {
        mail[handle].append(.entry(entry, .direct))
      } else if plan.carbons {
        mail[handle].append(.entry(entry, .carbonReceived))
      }
    case .attended(let new, let position):
      if let handle {
        mail[handle].append(.closed)
        if seat == handle { seat = nil }
      }
      handle = new
      isAvailable = false
      mail[new].append(.attended(position))
    case .handedOver(let new):
      guard let old = handle else { return }
      handle = new
      if seat == old { seat = new }
      mail[old].append(.handedOver(to: new))
    case .entered(let position):
      guard let handle else { return }
      seat = handle
      mail[handle].append(.entered(position))
    case .left:
      guard let seat else { return }
      mail[seat].append(.left)
      self.seat = nil
    }
  }

  // MARK: The store

  private func entries(after: Position, limit: Int, where isIn: (Kind) -> Bool) -> LogPage {
    let entries = log.dropFirst(Int(after.number)).filter { isIn($0.kind) }.prefix(limit).map(\.entry)
    if entries.count == limit, let last = entries.last {
      return LogPage(entries: entries, end: last.position, isLast: false)
    }
    return LogPage(entries: entries, end: max(after, head), isLast: true)
  }

  private func answer(_ page: Page) -> Answer {
    switch page {
    case .log(let after, let rooms):
      return .log(entries(after: after, limit: 3) { $0 != .room || !rooms.isEmpty }, rooms: rooms)
    case .replay(let after, let behind, let rooms):
      let messages = entries(after: after, limit: 2) { $0 == .message || $0 == .exact }
      return .replay(
        messages.entries, isFull: !messages.isLast,
        log: entries(after: behind, limit: 3) { $0 != .room || !rooms.isEmpty },
        head: head, rooms: rooms)
    case .history(let visit, let position):
      let said = log.prefix(Int(position.number)).filter { $0.kind == .room }.suffix(2)
      return .history(visit: visit, upTo: position, said.map(\.entry))
    case .room(let visit, let after): return .room(visit: visit, entries(after: after, limit: 3) { $0 == .room })
    }
  }

  private mutating func deliverAll() {
    while let first = mail[0].first {
      mail[0].removeFirst()
      receive(first, at: 0)
    }
  }

  // MARK: The session, as `XMPPSession` and `RoomInbound` have it

  private mutating func receive(_ item: Mail, at handle: Int) {
    if let heir = moved[handle] { return mail[heir].append(item) }
    if case .attended(let position) = item {
      let session = Session()
      session.cursor = StreamCursor(at: position, replayed: .zero)
      session.stream.attended = position
      sessions[handle] = session
      (isMoving, wantsRoom, lags) = (false, false, false)
      return
    }
    guard let session = sessions[handle] else { return }
    switch item {
    case .attended: break
    case .closed:
      sessions[handle] = nil
      gone.insert(handle)
    case .entry(let entry, let form):
      let isToldAnyway = defect == .ignoresPositions && session.cursor.log.state == .following
      let isTold = sessions[handle]?.cursor.arrived(entry, form, lags: lags) == true
      if isTold || isToldAnyway { goOn(entry, form, at: handle) }
    case .handedOver(let new):
      sessions[handle]?.isDue = true
      if session.hasAnswered { surrender(handle, to: new) }
    case .entered(let position):
      guard
        let visit = sessions[handle]?.rooms.entered(
          address, room, nick: "j", affiliation: .none, follows: FollowedRoom(room.dialog, since: position),
          place: session.cursor.log.position)
      else { return }
      sessions[handle]?.stream.visit = (visit, position, [], .zero)
      sessions[handle]?.pages.append(.history(visit: visit, upTo: position))
    case .left:
      sessions[handle]?.rooms.left(address)
      sessions[handle]?.stream.visit = nil
    }
  }

  private mutating func surrender(_ old: Int, to heir: Int? = nil) {
    guard let session = sessions[old], let new = heir ?? session.heir else { return }
    sessions[old] = nil
    session.cursor.interrupt()
    session.rooms.interrupt()
    session.heir = nil
    session.isDue = false
    sessions[new] = session
    moved[old] = new
    isMoving = false
    // Deliveries that arrived early are read now.
    readOn()
    readOnRoom()
  }

  private mutating func goOn(_ entry: Entry, _ form: Form, at handle: Int) {
    guard let session = sessions[handle] else { return }
    if isReplayable(entry), defect != .ignoresPositions || session.cursor.replay == .due,
      sessions[handle]?.cursor.tells(entry.position, form, isAvailable: session.isAvailable) != true
    {
      return
    }
    if entry.room != nil {
      guard sessions[handle]?.rooms.arrived(entry, form, in: room) == true else { return }
      return tellRoom(entry, at: handle)
    }
    tell(entry, at: handle)
  }

  private mutating func readOn() {
    guard let handle, let session = sessions[handle], session.heir == nil, !lags else { return }
    switch sessions[handle]?.cursor.next() {
    case .log(let after)?: sessions[handle]?.pages.append(.log(after: after, rooms: session.rooms.followed))
    case .replay(let after, let log)?:
      sessions[handle]?.pages.append(.replay(after: after, log: log, rooms: session.rooms.followed))
    case nil: break
    }
  }

  private mutating func readOnRoom() {
    guard let handle, let (_, visit, after) = sessions[handle]?.rooms.read(address) else { return }
    sessions[handle]?.pages.append(.room(visit: visit, after: after))
  }

  private mutating func take(_ answer: Answer, at handle: Int) {
    guard let session = sessions[handle] else { return }
    switch answer {
    case .log(let page, let rooms):
      if lags || session.heir != nil { sessions[handle]?.cursor.interrupt() } else { take(page, rooms, at: handle) }
    case .replay(let messages, let isFull, let page, let head, let rooms):
      if lags || session.heir != nil {
        sessions[handle]?.cursor.interrupt()
        return
      }
      for message in messages where session.cursor.isInOrder(message.position) { tell(message, at: handle) }
      if isFull, let last = messages.last {
        sessions[handle]?.cursor.replayed(through: last.position)
      } else {
        sessions[handle]?.cursor.replayEnded(at: head)
        take(page, rooms, at: handle)
      }
    case .history(let visit, let position, let said):
      guard session.rooms.isIn(address, visit) || defect == .mixesVisits else { return }
      for entry in said { tellRoom(entry, at: handle) }
      goOnRoom(visit, through: position, isLast: true, at: handle)
    case .room(let visit, let page):
      guard session.rooms.isIn(address, visit) || defect == .mixesVisits else { return }
      let place = session.cursor.log.position
      for entry in page.entries where entry.position <= place { tellRoom(entry, at: handle) }
      goOnRoom(visit, through: min(page.end, place), isLast: page.isLast || page.end >= place, at: handle)
    }
  }

  private mutating func take(_ page: LogPage, _ rooms: [FollowedRoom], at handle: Int) {
    for entry in page.entries {
      if let form = form(of: entry, at: handle) { goOn(entry, form, at: handle) }
    }
    if defect != .forgetsNewRooms { sessions[handle]?.rooms.passed(but: rooms) }
    let held = sessions[handle]?.cursor.told(through: page.end, isLast: page.isLast, lags: lags) ?? []
    if !(defect == .forgetsWhatIsHeld && page.entries.isEmpty) {
      for held in held { goOn(held.entry, held.form, at: handle) }
    }
    readOnRoom()
    readOn()
  }

  /// Returns the form in which live routing would have delivered the entry.
  private func form(of entry: Entry, at handle: Int) -> Form? {
    switch kind(entry) {
    case .exact: .direct
    case .copy: .carbonSent
    case .room: .room
    case .message: sessions[handle]?.isAvailable == true ? .direct : plan.carbons ? .carbonReceived : nil
    }
  }

  private mutating func goOnRoom(_ visit: Int, through end: Position, isLast: Bool, at handle: Int) {
    for held in sessions[handle]?.rooms.told(address, visit, through: end, isLast: isLast) ?? [] {
      tellRoom(held.entry, at: handle)
    }
    readOnRoom()
  }

  // MARK: The judge

  private mutating func tell(_ entry: Entry, at handle: Int) {
    guard var stream = sessions[handle]?.stream else { return }
    let kind: Kind = self.kind(entry) == .exact ? .message : self.kind(entry)
    if !stream.told.insert(entry.position).inserted { violation = "\(entry.position.number) was told twice" }
    // An entry for the session itself is told at once, before its offline messages.
    if self.kind(entry) != .exact || sessions[handle]?.isAvailable == true {
      if let last = stream.last[kind], last > entry.position {
        violation = "\(entry.position.number) was told behind \(last.number)"
      }
      stream.last[kind] = entry.position
      let first = kind == .copy ? stream.attended : .zero
      if let passed = passed(by: entry, behind: first, in: kind, told: stream.told) {
        violation = "\(entry.position.number) was told before \(passed.number)"
      }
    }
    sessions[handle]?.stream = stream
  }

  /// Returns an entry of this kind before `entry` that has not been delivered; nil if there is none.
  private func passed(by entry: Entry, behind first: Position, in kind: Kind, told: Set<Position>) -> Position? {
    let before = log.prefix(Int(entry.position.number) - 1).dropFirst(Int(first.number))
    return before.first {
      ($0.kind == .exact ? .message : $0.kind) == kind && !told.contains($0.entry.position)
    }?.entry.position
  }

  private mutating func tellRoom(_ entry: Entry, at handle: Int) {
    guard var visit = sessions[handle]?.stream.visit else {
      violation = "\(entry.position.number) of the room was told outside it"
      return
    }
    if !visit.told.insert(entry.position).inserted {
      violation = "\(entry.position.number) of the room was told twice"
    }
    if visit.last > entry.position {
      violation = "\(entry.position.number) of the room was told behind \(visit.last.number)"
    }
    visit.last = entry.position
    if entry.position > visit.since,
      let passed = passed(by: entry, behind: visit.since, in: .room, told: visit.told)
    {
      violation = "\(entry.position.number) of the room was told before \(passed.number)"
    }
    sessions[handle]?.stream.visit = visit
  }

  /// The error if, at the end, an entry has not been delivered that should have been; otherwise nil.
  private var missing: String? {
    guard let handle, let session = sessions[handle] else { return "the session is gone" }
    let stream = session.stream
    for (entry, kind) in log {
      let position = entry.position
      switch kind {
      case .message, .exact: if stream.told.contains(position) || !session.isAvailable { continue }
      case .copy: if stream.told.contains(position) || position <= stream.attended { continue }
      case .room:
        guard let visit = stream.visit, position > visit.since else { continue }
        if visit.told.contains(position) { continue }
      }
      return "\(position.number), \(kind), was never told"
    }
    return nil
  }
}
