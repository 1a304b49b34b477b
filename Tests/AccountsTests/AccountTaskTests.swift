import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Synchronization
import Testing

@testable import Accounts
@testable import Dialogs

/// Deletion, erasure and what a crash leaves of them.
@Suite struct AccountTaskTests {
  private func texts(_ stage: Stage, _ dialog: DialogID) async throws -> [String] {
    try await stage.parley.read { reader in
      try reader.history(of: dialog, after: .zero, before: .end, limit: 99, ascending: true).map { entry in
        guard case .message(let message) = entry.fact else { return "" }
        return entry.state?.retraction == nil ? message.content.text : "-"
      }
    }
  }

  private func erase(_ stage: Stage, _ party: Party) async throws {
    try await stage.accounts.finish(try await stage.accounts.beginDeletion(of: party.id, erasing: true))
  }

  private func isRetraction(_ delivery: Delivery) -> Bool {
    guard case .entry(let entry, _) = delivery, case .message(let message) = entry.fact,
      case .retraction = message.reference?.kind
    else { return false }
    return true
  }

  @Test func anErasureTakesBackWhatWasSaidWhereverItWasSaid() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let tybalt = try await stage.user("tybalt")
    let dialog = try #require(try await stage.say("love", from: romeo, to: juliet).entry?.dialog)
    _ = try await stage.say("hush", from: juliet, to: romeo)
    let feud = try #require(try await stage.say("villain", from: romeo, to: tybalt).entry?.dialog)
    // He could not say anything to him now.
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: tybalt)
    let session = try await stage.session(juliet, "balcony")
    try await erase(stage, romeo)
    #expect(try await texts(stage, dialog) == ["-", "hush"])
    #expect(try await texts(stage, feud) == ["-"])
    // A session that is online is told, as of any retraction.
    #expect(session.deliveries().contains(where: isRetraction))
    let user = try #require(try await stage.parley.read { try $0.user(romeo.id) })
    #expect(user.state == .deleted)
    #expect(user.profile == Profile())
    #expect(try await stage.parley.read { try $0.pendingAccountTasks() } == [])
  }

  @Test func anErasureTakesBackWhatWasSaidInRoomsAlsoThoseThatWereLeft() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    var rooms: [RoomName] = []
    for name in ["verona", "mantua"] {
      let room = try await stage.room(name, by: juliet, with: [(romeo, .member)])
      try await stage.parley.post(
        .room(
          .say(
            .dialog(room.dialog),
            RoomMessageDraft(
              content: Content(kind: .text, text: "hi"), envelope: Envelope(type: .groupchat),
              traits: [.counts, .archived, .fromApp], key: nil))), by: romeo)
      rooms.append(room)
    }
    try await stage.parley.post(
      .room(.members(.dialog(rooms[1].dialog), [MemberDraft(address: romeo.address, affiliation: Affiliation.none)])),
      by: romeo)
    try await erase(stage, romeo)
    for room in rooms { #expect(try await texts(stage, room.dialog).filter { !$0.isEmpty } == ["-"]) }
  }

  @Test func reactionsGoToo() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let said = try #require(try await stage.say("hush", from: juliet, to: romeo).entry)
    try await stage.parley.post(
      .message(
        MessageDraft(
          to: juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat),
          traits: [.archived, .fromApp], key: nil,
          reference: ReferenceDraft(kind: .reactions(["🌹"]), target: .entry(said.id)))), by: romeo)
    try await erase(stage, romeo)
    let state = try await stage.parley.read { try $0.entry(said.position, in: said.dialog)?.state }
    #expect(state?.reactions == [])
    #expect(try await texts(stage, said.dialog) == ["hush"])
  }

  /// A large room takes only so much at once: everybody is told of what is beyond later.
  @Test func anErasureTellsALargeRoomOfEachMessage() async throws {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    let stage = try Stage(sending: policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: juliet, .open, with: [(romeo, .member)])
    let sessions = try await stage.crowd(Limits.fanOutMin).map { RecordingSession($0) }
    for session in sessions { try await stage.enter(room, session) }
    for number in 0..<30 {
      try await stage.say("\(number)", in: room, by: romeo)
      stage.clock.set(stage.clock.now.milliseconds + 1_000)
    }
    func retractions() -> Int {
      sessions[0].deliveries().count { delivery in
        guard case .entry(let entry, _) = delivery, case .message(let message) = entry.fact,
          case .retraction = message.reference?.kind
        else { return false }
        return true
      }
    }
    _ = retractions()
    let erasing = Task { try await erase(stage, romeo) }
    // 1,000 deliveries at once, and 250 that are owed.
    var told = 0
    while told < 20 {
      told += retractions()
      await Task.yield()
    }
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    try await erasing.value
    #expect(told + retractions() == 30)
  }

  /// The bytes of a day hold up no deletion, and everybody is told of what is retracted.
  @Test func whoHasStoredTwiceAsMuchAsOneMayIsErasedAtOnce() async throws {
    var policy = SendingPolicy()
    policy.dayBytes = 10_000
    let stage = try Stage(sending: policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.say("love", from: romeo, to: juliet).entry?.dialog)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let alone = try await stage.room("tomb", by: romeo)
    let nurse = try await stage.user("nurse")
    try await stage.parley.post(.link(nurse.address, name: nil, groups: nil, mutual: true), by: romeo)
    let call = CallDraft(
      to: nurse.address, kind: .audio, resource: "phone", key: RepeatKey(rule: .app, id: "c", bodyHash: 1))
    try await stage.parley.post(.call(.start(call)), by: romeo)
    let pattern = BlockPattern(JID(try BareJID("paris@localhost")))
    var code: String?
    for _ in 0..<500 where code == nil {
      for intent in [Intent.block([pattern]), .unblock([pattern])] {
        do throws(Problem) { try await stage.parley.post(intent, by: romeo) } catch { code = error.code }
      }
    }
    #expect(code == "messages-day-quota")
    let session = try await stage.session(juliet, "balcony")
    try await erase(stage, romeo)
    let open = try await Calls(stage.parley).open(of: nurse)
    #expect(open.isEmpty)
    #expect(try await texts(stage, dialog) == ["-"])
    #expect(session.deliveries().contains(where: isRetraction))
    #expect(try await stage.parley.read { try $0.user(romeo.id)?.state } == .deleted)
    #expect(try await stage.parley.read { try $0.member(juliet.id, of: room.dialog)?.affiliation } == .owner)
    #expect(try await stage.parley.read { try $0.room(alone.dialog)?.isDestroyed } == true)
  }

  /// A failed commit is like a crash at that moment, since nothing is written: the next start continues the task
  /// without a new request.
  @Test(arguments: 0..<12) func whereverAnErasureBreaksOffTheNextStartEndsIt(commits: Int) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let dialog = try #require(try await stage.say("one", from: romeo, to: juliet).entry?.dialog)
    _ = try await stage.say("two", from: romeo, to: juliet)
    let task = try await stage.accounts.beginDeletion(of: romeo.id, erasing: true)
    stage.store.failNext(1, after: commits)
    try? await stage.accounts.finish(task)
    stage.store.failNext(0)
    try await stage.accounts.resumeAccountTasks()
    #expect(try await texts(stage, dialog) == ["-", "-"])
    #expect(try await stage.parley.read { try $0.user(romeo.id)?.state } == .deleted)
    #expect(try await stage.parley.read { try $0.member(juliet.id, of: room.dialog)?.affiliation } == .owner)
    #expect(try await stage.accounts.resumeAccountTasks() == 0)
  }

  @Test func aDeletionThatHasBegunShutsTheUserOutAndGoesOnByItself() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("romeo@localhost"), password: "x", displayName: "Romeo")
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    let first = try await stage.accounts.beginDeletion(of: user.id, erasing: false)
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: login.accessToken) }
    // Asked again it is the same; asked for more it is more.
    #expect(try await stage.accounts.beginDeletion(of: user.id, erasing: false).id == first.id)
    let more = try await stage.accounts.beginDeletion(of: user.id, erasing: true)
    #expect(more.kind == .erasure)
    #expect(try await stage.parley.read { try $0.pendingAccountTasks() } == [more])
    // An operator who opens the account again has it kept.
    try await stage.accounts.setState(of: user.id, .active)
    #expect(try await stage.accounts.resumeAccountTasks() == 0)
    try await stage.accounts.finish(more)
    #expect(try await stage.parley.read { try $0.user(user.id)?.state } == .active)
    #expect(try await stage.accounts.verify(user.address, password: "x").id == user.id)
  }

  /// Creates a user with 2,000 blocks, which are five pieces.
  private func userWithMuch(_ name: String, _ stage: Stage) async throws -> User {
    let user = try await stage.accounts.register(try BareJID("\(name)@localhost"), password: "x", displayName: nil)
    try await stage.parley.work { writer in
      for rank in 0..<2_000 {
        try writer.insert(RankedBlock(rank: rank, pattern: BlockPattern(JID(user.address))), of: user.id)
      }
    }
    return user
  }

  /// Deletes such a user up to the third piece.
  private func halfDeleted(_ stage: Stage) async throws -> (user: User, task: AccountTask) {
    let user = try await userWithMuch("romeo", stage)
    let task = try await stage.accounts.beginDeletion(of: user.id, erasing: false)
    // They have left the contact groups, and are deleted; then two pieces.
    stage.store.failNext(1, after: 4)
    await #expect(throws: Problem.self) { try await stage.accounts.finish(task) }
    stage.store.failNext(0)
    return (user, task)
  }

  private func blocks(_ stage: Stage, _ user: User) async throws -> Int {
    try await stage.parley.read { try $0.blocks(of: user.id).count }
  }

  @Test func anAccountEndsInPiecesAndTheNextStartEndsIt() async throws {
    let stage = try Stage()
    let (user, task) = try await halfDeleted(stage)
    let left = try await blocks(stage, user)
    #expect(left >= 1_000 && left < 2_000)
    // Nobody takes it for an account, or makes it one again.
    #expect(try await stage.parley.read { try $0.user(user.id)?.state } == .deleted)
    await #expect(throws: Problem.self) { try await stage.accounts.verify(user.address, password: "x") }
    await #expect(throws: Problem.self) { try await stage.accounts.setState(of: user.id, .active) }
    await #expect(throws: Problem.self) {
      try await stage.accounts.register(user.address, password: "y", displayName: nil)
    }
    #expect(try await stage.parley.read { try $0.pendingAccountTasks() } == [task])
    let before = stage.store.commits
    #expect(try await stage.accounts.resumeAccountTasks() == 1)
    #expect(stage.store.commits - before >= left / Limits.erasedRowsAtOnce)
    #expect(try await blocks(stage, user) == 0)
    #expect(try await stage.accounts.resumeAccountTasks() == 0)
    await #expect(throws: Problem.self) {
      try await stage.accounts.register(user.address, password: "y", displayName: nil)
    }
  }

  @Test func manyAccountsThatEndHaveOnePieceInATransaction() async throws {
    let stage = try Stage()
    let users = [try await userWithMuch("romeo", stage), try await userWithMuch("juliet", stage)]
    let before = stage.store.commits
    try await withThrowingTaskGroup(of: Void.self) { group in
      for user in users { group.addTask { try await stage.accounts.setState(of: user.id, .deleted) } }
      try await group.waitForAll()
    }
    // Each has five, as the first one looks for files as well. Together they would be as many as those of one user.
    #expect(stage.store.commits - before >= users.count * (2_000 / Limits.erasedRowsAtOnce + 1))
    for user in users { #expect(try await blocks(stage, user) == 0) }
  }

  @Test func aHoldKeepsWhatIsLeftOfADeletedUser() async throws {
    let stage = try Stage()
    let (user, task) = try await halfDeleted(stage)
    let left = try await blocks(stage, user)
    try await stage.accounts.hold(Hold(.user(user.id), in: user.realm, note: nil, since: stage.clock.now))
    try await stage.accounts.resumeAccountTasks()
    #expect(try await blocks(stage, user) == left)
    #expect(try await stage.parley.read { try $0.pendingAccountTasks() } == [task])
    try await stage.accounts.removeHold(of: .user(user.id))
    try await stage.accounts.resumeAccountTasks()
    #expect(try await blocks(stage, user) == 0)
  }

  @Test func onlyAFreshLoginMayDelete() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("romeo@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    let caller = try await stage.accounts.caller(accessToken: login.accessToken)
    #expect(try await stage.accounts.isFresh(caller))
    stage.clock.set(stage.clock.now.milliseconds + 600_000)
    #expect(try await !stage.accounts.isFresh(caller))
    // New tokens are no new login.
    let next = try await stage.accounts.refresh(login.refreshToken)
    #expect(try await !stage.accounts.isFresh(try await stage.accounts.caller(accessToken: next.accessToken)))
  }

  /// An export that the server does not outlive is tried twice, and has then failed: its user sees that, and may begin another.
  @Test func anExportThatEndsTheServerDoesNotEndItAtEachStart() async throws {
    let policy = BlobPolicy(links: BlobLinks(base: "https://files.example"), lifetime: nil)
    let files = FullFiles()
    let stage = try Stage(blobs: (policy: policy, store: files))
    let romeo = try await stage.user("romeo")
    let task = try await stage.accounts.beginExport(of: romeo)
    for attempt in 1...2 {
      // A process that ends within it stores nothing after it has noted the attempt.
      stage.store.failNext(9, after: 1)
      await #expect(throws: Problem.self) { try await stage.accounts.finish(task) }
      stage.store.failNext(0)
      #expect(files.begun == attempt)
      #expect(try await stage.accounts.exports(of: romeo.id).map(\.attempts) == [Int64(attempt)])
    }
    #expect(try await stage.accounts.resumeAccountTasks() == 1)
    #expect(files.begun == 2)
    #expect(try await stage.accounts.exports(of: romeo.id).map(\.state) == [.failed])
    #expect(try await stage.accounts.resumeAccountTasks() == 0)
    // A full disk is no fault of an export, which is tried again with each start.
    let next = try await stage.accounts.beginExport(of: romeo, isPaced: false)
    for _ in 1...3 {
      await #expect(throws: Problem.self) { try await stage.accounts.finish(next) }
    }
    #expect(files.begun == 5)
    #expect(try await stage.accounts.exports(of: romeo.id).map(\.state) == [.pending, .failed])
  }

  @Test func aTarHeaderIsWhatTarReads() {
    let header = ExportArchive.header("a.json", size: 5, time: Timestamp(milliseconds: 8_000))
    #expect(header.count == 512)
    func field(_ place: Int, _ count: Int) -> String {
      String(decoding: header[place..<(place + count)].prefix { $0 != 0 }, as: UTF8.self)
    }
    #expect(field(0, 100) == "a.json")
    #expect(field(124, 12) == "00000000005")
    #expect(field(136, 12) == "00000000010")
    #expect(field(257, 6) == "ustar")
    let sum = header.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
    #expect(Int(field(148, 6), radix: 8) == sum)
  }
}

/// A store of files without room, which counts the files that are begun.
private final class FullFiles: BlobStore {
  private let count = Mutex(0)
  var begun: Int { count.withLock { $0 } }
  let isRemote = false
  let room: Int64 = 0
  let unsettled: [BlobID] = []
  func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter {
    count.withLock { $0 += 1 }
    throw BlobFailure(isFull: true, "")
  }
  func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter { throw BlobFailure(isFull: true, "") }
  func open(_ name: BlobName) -> (any BlobReader)? { nil }
  func remove(_ name: BlobName) {}
  func settle(_ name: BlobName) {}
}
