import Addresses
import Basics
import DialogsFixtures
import Dispatch
import StoreConformance
import Synchronization
import Testing

@testable import Dialogs
@testable import PushServices

extension PushRegistration {
  /// The node of a push service; empty for another target.
  var node: String { if case .service(_, let node, _) = target { node } else { "" } }
  var service: JID? { if case .service(let service, _, _) = target { service } else { nil } }
}

/// The users to whom pushes are sent (XEP-0357), none of which is lost or repeated.
@Suite struct PushTests {
  // MARK: The rule

  struct Row: Sendable, CustomStringConvertible {
    let name: String
    var traits: Message.Traits = [.counts, .archived]
    var reader = Pushes.Reader(alerts: .always)
    let isDue: Bool
    var description: String { name }

    init(
      _ name: String, _ isDue: Bool, traits: Message.Traits = [.counts, .archived],
      _ change: (inout Pushes.Reader) -> Void = { _ in }
    ) {
      (self.name, self.isDue, self.traits) = (name, isDue, traits)
      change(&reader)
    }
  }

  @Test(arguments: [
    Row("a message", true), Row("a call", true, traits: [.archived, .rings]),
    Row("a receipt, a marker, a chat state, a reaction", false, traits: [.archived]),
    Row("nothing at all", false, traits: []),
    Row("what one wrote oneself", false) { $0.isAuthor = true },
    Row("of whom one has blocked", false) { $0.isShunned = true },
    Row("somebody looks", false) { $0.isAttended = true },
    Row("a call, somebody looks", false, traits: [.rings]) { $0.isAttended = true },
    Row("a room, nobody mentioned", false) { $0.alerts = .onMention },
    Row("a room, a mention", true) {
      $0.alerts = .onMention
      $0.isMentioned = true
    },
    Row("muted", false) { $0.alerts = .never },
    Row("muted, a mention", false) {
      $0.alerts = .never
      $0.isMentioned = true
    },
  ])
  func messagesThatAreWorthAPush(row: Row) {
    let message = Message(
      sequence: 1, content: Content(kind: .text, text: "x"), envelope: Envelope(), traits: row.traits)
    #expect(Pushes.isDue(message, row.reader) == row.isDue)
  }

  @Test(arguments: [Presence.Availability.online, .chat, .doNotDisturb, .away, .extendedAway])
  func aSessionIsAttendedByItsPresence(availability: Presence.Availability) async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let session = RecordingSession(juliet)
    var onlineSession = OnlineSession(session: session, door: .xmpp, resource: "r")
    #expect(!Pushes.isAttended([]) && !Pushes.isAttended([onlineSession]))
    onlineSession.presence = Presence(
      from: juliet, resource: "r", availability: availability, priority: 0, time: stage.clock.now)
    let looks = availability != .away && availability != .extendedAway
    #expect(Pushes.isAttended([onlineSession]) == looks)
    var other = onlineSession
    other.isConnected = false
    #expect(!Pushes.isAttended([other]))
    other = onlineSession
    other.isInactive = true
    #expect(!Pushes.isAttended([other]))
    #expect(Pushes.isAttended([other, onlineSession]) == looks)
    other = onlineSession
    other.presence = Presence(
      from: juliet, resource: "r", availability: availability, priority: -1, time: stage.clock.now)
    #expect(!Pushes.isAttended([other]))
    #expect(Pushes.isAttended([OnlineSession(session: session, door: .app, resource: "a")]))
  }

  /// A dialog on the screen of an app alerts no device, whether its user is away or not.
  @Test func theDialogOnTheScreenAlertsNoDevice() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let session = RecordingSession(juliet)
    var onlineSession = OnlineSession(session: session, door: .app, resource: "a")
    onlineSession.presence = Presence(
      from: juliet, resource: "a", availability: .away, priority: 0, time: stage.clock.now)
    #expect(!Pushes.isOnScreen(DialogID(7), []) && !Pushes.isOnScreen(DialogID(7), [onlineSession]))
    onlineSession.activeDialog = DialogID(7)
    #expect(Pushes.isOnScreen(DialogID(7), [onlineSession]) && !Pushes.isOnScreen(DialogID(8), [onlineSession]))
    #expect(!Pushes.isAttended([onlineSession]))
  }

  // MARK: Notifications of a backend

  @Test func aNotificationIsOwedOnceAndToDevicesAlone() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    func notify(_ id: String, _ text: String) async throws -> Receipt {
      try await stage.parley.post(.push(.notify(AppNotification(id: id, body: .text(text)))), by: juliet)
    }
    // A user without a device gets no push when one is registered later.
    #expect(try await notify("1", "early").value as? Int == 0)
    try await stage.parley.post(enable("bot"), by: juliet)
    #expect(try await notify("2", "to a service").value as? Int == 0)
    #expect(try await stage.parley.read { try $0.pushesOwed(to: juliet.id, limit: 9).count } == 0)
    #expect(try await notify("1", "early").isRepeat)
    let problem = await #expect(throws: Problem.self) { try await notify("1", "late") }
    #expect(problem?.code == "client-id-reused")
    #expect(try await stage.parley.read { try $0.feed(of: juliet.id, after: .zero, limit: 9).count } == 0)
  }

  // MARK: Registrations

  private let service = JID(parsing: "bot@localhost/push")!  // a constant

  private func enable(_ node: String, _ service: JID? = nil, options: [UInt8]? = nil) -> Intent {
    .push(.enable(service: service ?? self.service, node: node, options: options, resource: "phone"))
  }

  private func registrations(_ user: Party, _ stage: Stage) async throws -> [PushRegistration] {
    try await stage.parley.read { try $0.pushRegistrations(of: user.id) }
  }

  private func owed(_ user: Party, _ stage: Stage) async throws -> [Position] {
    try await stage.parley.read { try $0.pushesOwed(to: user.id, limit: 1_000).map(\.position) }
  }

  @Test func theSameNodeIsReplacedAndTheOldestGoes() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    for node in ["a", "b", "a"] { try await stage.parley.post(enable(node, options: Array(node.utf8)), by: juliet) }
    #expect(try await registrations(juliet, stage).map(\.node) == ["a", "b"])
    #expect(stage.parley.registries.pushes.has(juliet.id, resource: "phone"))
    for number in 0..<Limits.pushRegistrationsMax - 1 { try await stage.parley.post(enable("n\(number)"), by: juliet) }
    let nodes = try await registrations(juliet, stage).map(\.node)
    #expect(nodes.count == Limits.pushRegistrationsMax)
    #expect(nodes.contains("a") && !nodes.contains("b"))
    let other = try JID("bot@localhost/other")
    try await stage.parley.post(enable("a", other), by: juliet)
    try await stage.parley.post(.push(.disable(service: other, node: "b")), by: juliet)
    #expect(try await registrations(juliet, stage).contains { $0.service == other })
    try await stage.parley.post(.push(.disable(service: other, node: "a")), by: juliet)
    #expect(try await !registrations(juliet, stage).contains { $0.service == other })
    try await stage.parley.post(.push(.disable(service: service, node: nil)), by: juliet)
    #expect(try await registrations(juliet, stage) == [])
    #expect(!stage.parley.registries.pushes.has(juliet.id))
  }

  @Test func optionsAreBounded() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    await #expect(throws: Problem.self) {
      try await stage.parley.post(
        enable("a", options: [UInt8](repeating: 32, count: Limits.pushOptionsBytesMax + 1)), by: juliet)
    }
    #expect(try await registrations(juliet, stage) == [])
  }

  // MARK: Pending pushes

  @Test func onlyWhoIsAwayAndHasAskedIsOwed() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await stage.say("before", from: romeo, to: juliet)
    #expect(try await owed(juliet, stage) == [])
    try await stage.parley.post(enable("a"), by: juliet)
    let away = try await stage.say("away", from: romeo, to: juliet)
    let session = try await stage.session(juliet, "desk")
    _ = try await stage.say("there", from: romeo, to: juliet)
    // One's own, said elsewhere.
    _ = try await stage.say("own", from: juliet, to: romeo)
    stage.parley.hub.update(session) { $0.isConnected = false }
    let lost = try await stage.say("lost", from: romeo, to: juliet)
    stage.parley.hub.update(session) {
      $0.isConnected = true
      $0.isInactive = true
    }
    let unseen = try await stage.say("unseen", from: romeo, to: juliet)
    #expect(try await owed(juliet, stage) == [away, lost, unseen].map(\.position))
    #expect(try await owed(romeo, stage) == [])
  }

  @Test func aMessageToAUserWhoHasJustLeftIsOwedOnce() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    let session = try await stage.session(juliet, "phone")
    let first = try await stage.say("first", from: romeo, to: juliet)
    let second = try await stage.say("second", from: romeo, to: juliet)
    #expect(try await owed(juliet, stage) == [])
    stage.parley.hub.update(session) { $0.isConnected = false }
    // The client had confirmed the first.
    for _ in 0..<2 { try await stage.parley.post(.push(.missed(after: first.position)), by: juliet) }
    #expect(try await owed(juliet, stage) == [second.position])
    try await stage.parley.post(
      .push(.settled(.service(service, node: "a"), upTo: second.position, .taken)), by: juliet)
    try await stage.parley.post(.push(.missed(after: .zero)), by: juliet)
    #expect(try await owed(juliet, stage) == [])
  }

  @Test func anOpenRoomOwesAPushToMentionedUsersOnly() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    for user in [juliet, nurse] { try await stage.parley.post(enable("a"), by: user) }
    let room = try await stage.room(
      by: romeo, RoomSettings.open.with { $0.showsAddresses = true }, with: [(juliet, .member), (nurse, .member)])
    let draft = RoomMessageDraft(
      content: Content(kind: .text, text: "Juliet!"), envelope: Envelope(type: .groupchat),
      traits: [.counts, .archived, .fromApp], key: nil,
      mentions: [MentionDraft(address: JID(juliet.address), begin: nil, end: nil)])
    let said = try await stage.parley.post(.room(.say(.dialog(room.dialog), draft)), by: romeo)
    #expect(try await owed(juliet, stage) == [said.position])
    #expect(try await owed(nurse, stage) == [])
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    _ = try await stage.parley.post(.room(.say(.dialog(room.dialog), draft)), by: romeo)
    #expect(try await owed(juliet, stage) == [said.position])
  }

  // MARK: Settings of dialogs

  /// Juliet's settings of a dialog, while she is offline with a push registration, and the messages of which she is
  /// notified: a plain one, a mention of her, a reply to her.
  struct Wish: Sendable, CustomStringConvertible {
    let name: String
    var settings = DialogSettingsDraft()
    var seconds = 0
    let told: [String]
    var description: String { "\(name): \(told)" }
    init(_ name: String, _ alerts: Alerts?? = nil, mutedFor: Int? = nil, after seconds: Int = 0, told: [String]) {
      (self.name, self.seconds, self.told) = (name, seconds, told)
      settings.alerts = alerts
      mute = mutedFor
    }
    var mute: Int?
  }
  private static let all = ["plain", "mention", "answer"]
  private static let personal = ["mention", "answer"]

  private func apply(_ wish: Wish, to dialog: DialogID, of user: Party, _ stage: Stage) async throws {
    var draft = wish.settings
    if let seconds = wish.mute { draft.mutedUntil = stage.clock.now + .seconds(seconds) }
    try await stage.parley.post(.settings(dialog, draft), by: user)
    stage.clock.set(stage.clock.now.milliseconds + Int64(wish.seconds) * 1_000)
  }

  private func talk(_ room: RoomName, to juliet: Party, by romeo: Party, _ stage: Stage) async throws -> [String] {
    let hers = try await stage.say("hers", in: room, by: juliet)
    var names: [Position: String] = [:]
    for name in Self.all {
      var draft = stage.draft(name, app: true)
      if name == "mention" { draft.mentions = [MentionDraft(address: JID(juliet.address), begin: nil, end: nil)] }
      if name == "answer" {
        draft.reference = ReferenceDraft(kind: .reply, target: .entry(try #require(hers.entry).id))
      }
      names[try await stage.act(.say(.dialog(room.dialog), draft), by: romeo).position] = name
    }
    return try await owed(juliet, stage).compactMap { names[$0] }
  }

  @Test(arguments: [
    Wish("a group as usual", told: all), Wish("always", .always, told: all),
    Wish("on mention", .onMention, told: personal),
    Wish("never", .never, told: []), Wish("muted", mutedFor: 60, after: 59, told: []),
    Wish("muted no more", mutedFor: 60, after: 60, told: all),
    Wish("muted, always", .always, mutedFor: 60, told: []),
    Wish("muted no more, never", .never, mutedFor: 60, after: 61, told: []),
    Wish("muted no more, on mention", .onMention, mutedFor: 60, after: 61, told: personal),
    Wish("as usual again", .some(nil), told: all),
  ])
  func aGroupNotifiesAsAskedFor(wish: Wish) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    // Set before and after the pushes are asked for: the same.
    try await apply(wish, to: room.dialog, of: juliet, stage)
    try await stage.parley.post(enable("a"), by: juliet)
    #expect(try await talk(room, to: juliet, by: romeo, stage) == wish.told)
    let other = try await stage.room("mantua", by: romeo, with: [(juliet, .member)])
    try await apply(wish, to: other.dialog, of: juliet, stage)
    #expect(try await talk(other, to: juliet, by: romeo, stage) == wish.told)
  }

  @Test(arguments: [
    Wish("an open room as usual", told: personal), Wish("always", .always, told: all),
    Wish("on mention", .onMention, told: personal),
    Wish("never", .never, told: []), Wish("muted", .always, mutedFor: 1, told: []),
    Wish("muted no more", .always, mutedFor: 1, after: 1, told: all),
  ])
  func anOpenRoomNotifiesAsAskedFor(wish: Wish) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    let room = try await stage.room(
      by: romeo, RoomSettings.open.with { $0.showsAddresses = true }, with: [(juliet, .member)])
    try await apply(wish, to: room.dialog, of: juliet, stage)
    #expect(try await talk(room, to: juliet, by: romeo, stage) == wish.told)
  }

  @Test(arguments: [
    Wish("as usual", told: all), Wish("always", .always, told: all), Wish("on mention", .onMention, told: personal),
    Wish("never", .never, told: []), Wish("muted", mutedFor: 60, after: 59, told: []),
    Wish("muted no more", mutedFor: 60, after: 60, told: all),
  ])
  func aDirectChatNotifiesAsAskedFor(wish: Wish) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let hers = try #require(try await stage.say("hers", from: juliet, to: romeo).entry)
    try await apply(wish, to: hers.dialog, of: juliet, stage)
    try await stage.parley.post(enable("a"), by: juliet)
    var names: [Position: String] = [:]
    for name in Self.all {
      let draft = MessageDraft(
        to: juliet.address, content: Content(kind: .text, text: name), envelope: Envelope(type: .chat),
        traits: [.counts, .archived, .replayed, .fromApp], key: nil,
        reference: name == "answer" ? ReferenceDraft(kind: .reply, target: .entry(hers.id)) : nil,
        mentions: name == "mention" ? [MentionDraft(address: JID(juliet.address), begin: nil, end: nil)] : [])
      names[try await stage.parley.post(.message(draft), by: romeo).position] = name
    }
    #expect(try await owed(juliet, stage).compactMap { names[$0] } == wish.told)
    // A session that turns out to be gone is no way around it.
    try await stage.parley.post(.push(.missed(after: .zero)), by: juliet)
    #expect(try await owed(juliet, stage).compactMap { names[$0] } == wish.told)
  }

  @Test func aFormerMemberIsNotToldAndANewOneIs() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    for user in [juliet, nurse] { try await stage.parley.post(enable("a"), by: user) }
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let first = try await stage.say("one", in: room, by: romeo).position
    // The change is in one batch with the message: the cached members are not the ones that count.
    try await stage.together(romeo) {
      for intent in [
        RoomIntent.members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: Affiliation.none)]),
        .members(.dialog(room.dialog), [MemberDraft(address: nurse.address, affiliation: .member)]),
        .say(.dialog(room.dialog), stage.draft("two", app: true)),
      ] { #expect(stage.parley.submit(Post(author: romeo, intent: .room(intent), completion: .none))) }
    }
    #expect(try await owed(juliet, stage) == [first])
    let third = try await stage.say("three", in: room, by: romeo).position
    #expect(try await owed(juliet, stage) == [first])
    #expect(try await owed(nurse, stage).contains(third))
    try await stage.parley.post(.push(.disable(service: service, node: nil)), by: nurse)
    #expect(stage.parley.registries.pushes.listeners(in: room.dialog, usual: .always) == [])
    try await stage.parley.post(enable("a"), by: nurse)
    #expect(stage.parley.registries.pushes.listeners(in: room.dialog, usual: .always) == [nurse.id])
    #expect(stage.parley.registries.pushes.listeners(in: room.dialog, usual: .onMention) == [])
    // The same after a restart.
    let again = try stage.store.read { try PushRegistry($0) }
    #expect(again.listeners(in: room.dialog, usual: .always) == [nurse.id])
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    #expect(stage.parley.registries.pushes.listeners(in: room.dialog, usual: .always) == [])
  }

  @Test func aLargeGroupRingsForWhoHasAskedForIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    for user in [juliet, nurse] { try await stage.parley.post(enable("a"), by: user) }
    let crowd = try await stage.crowd(Limits.ringingMembersMax - 3)
    let room = try await stage.room(by: romeo, with: ([juliet, nurse] + crowd).map { ($0, .member) })
    let small = try await stage.say("of as many as can be", in: room, by: romeo).position
    try await stage.affiliate(try await stage.user("paris"), .member, in: room, by: romeo)
    try await stage.parley.post(.settings(room.dialog, DialogSettingsDraft(alerts: .always)), by: nurse)
    let large = try await stage.say("of one more", in: room, by: romeo).position
    #expect(try await owed(juliet, stage) == [small])
    #expect(try await owed(nurse, stage) == [small, large])
  }

  // MARK: Publishing

  /// A push service whose answers the test determines, and which records its requests.
  final class Service: PushRoute {
    private let state: Mutex<[PushOutcome]>
    let got: AsyncStream<String>
    private let tell: AsyncStream<String>.Continuation

    /// The last outcome is for all that follow.
    init(_ outcomes: [PushOutcome]) {
      state = Mutex(outcomes)
      (got, tell) = AsyncStream.makeStream()
    }

    func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome {
      guard case .message(let message) = summary.last.fact else { return .refused }
      let outcome = state.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
      tell.yield("\(registration.node) \(summary.count) \(message.content.text) \(outcome)")
      return outcome
    }
  }

  @Test func earlierPendingPushesAreSentTogetherAtTheStart() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    for text in ["one", "two", "three"] { _ = try await stage.say(text, from: romeo, to: juliet) }
    let service = Service([.taken])
    let pusher = Pusher(parley: stage.parley, route: service, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = service.got.makeAsyncIterator()
    #expect(await got.next() == "a 3 three taken")
    running.cancel()
    await running.value
  }

  /// What is read for a user's pushes takes turns with the user's other reads, and leaves a thread to others.
  @Test func whatIsReadForAPushHasTheUsersPlace() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    for (name, user) in [("juliet", juliet), ("nurse", nurse)] {
      try await stage.parley.post(enable(name), by: user)
      _ = try await stage.say("one", from: romeo, to: user)
    }
    let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let held = Task {
      try await stage.parley.read(for: .user(juliet.id)) { _ in
        isBegun.yield()
        gate.wait()
      }
    }
    for await _ in begun { break }
    let service = Service([.taken])
    let pusher = Pusher(parley: stage.parley, route: service, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = service.got.makeAsyncIterator()
    #expect(await got.next() == "nurse 1 one taken")
    gate.signal()
    #expect(await got.next() == "juliet 1 one taken")
    try await held.value
    running.cancel()
    await running.value
  }

  @Test func anAcceptedPushIsNotRepeatedAndAFailedOneIs() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    _ = try await stage.say("one", from: romeo, to: juliet)
    let service = Service([.failed, .failed, .taken])
    let pusher = Pusher(parley: stage.parley, route: service, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = service.got.makeAsyncIterator()
    for outcome in ["failed", "failed", "taken"] { #expect(await got.next() == "a 1 one \(outcome)") }
    _ = try await stage.say("two", from: romeo, to: juliet)
    #expect(try #require(await got.next()).hasSuffix("two taken"))
    running.cancel()
    await running.value
  }

  @Test func aNewRegistrationNeedNotWaitForEarlierFailures() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    _ = try await stage.say("one", from: romeo, to: juliet)
    let service = Service([.failed, .taken])
    // Time does not go on: who rests, rests until the end.
    let pusher = Pusher(parley: stage.parley, route: service) { wait in
      if wait != PushLimits.interval { for await _ in AsyncStream<Void>.makeStream().stream {} }
    }
    let running = Task { await pusher.run() }
    var got = service.got.makeAsyncIterator()
    #expect(await got.next() == "a 1 one failed")
    // The failure is noted before anybody rests for it.
    while try await registrations(juliet, stage).first?.failures == 0 { await Task.yield() }
    try await stage.parley.post(enable("a"), by: juliet)
    _ = try await stage.say("two", from: romeo, to: juliet)
    #expect(await got.next() == "a 2 two taken")
    running.cancel()
    await running.value
  }

  @Test func theFirstWokenUserIsServedFirst() {
    var queue = PushQueue(max: 2)
    let users = (1...4).map { UserID($0) }
    for user in users + users { queue.add(user) }
    #expect([queue.next(), queue.next(), queue.next()] == [users[0], users[1], nil])
    // While served, and once more: one turn, behind the others.
    for _ in 0..<2 { queue.add(users[0]) }
    queue.served(users[0])
    #expect([queue.next(), queue.next()] == [users[2], nil])
    queue.served(users[1])
    queue.served(users[2])
    #expect([queue.next(), queue.next()] == [users[3], users[0]])
    queue.served(users[3])
    queue.served(users[0])
    #expect(queue.next() == nil)
    #expect(queue == PushQueue(max: 2))
  }

  @Test func aRefusingServiceIsDisabledAtOnceAndAFailingOneInTheEnd() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    for user in [juliet, nurse] {
      try await stage.parley.post(enable("a"), by: user)
      _ = try await stage.say("one", from: romeo, to: user)
    }
    try await stage.parley.post(.push(.settled(.service(service, node: "a"), upTo: .end, .refused)), by: juliet)
    #expect(try await registrations(juliet, stage) == [])
    #expect(try await owed(juliet, stage) == [])
    for _ in 1..<Limits.pushFailuresMax {
      try await stage.parley.post(.push(.settled(.service(service, node: "a"), upTo: .end, .failed)), by: nurse)
    }
    #expect(try await registrations(nurse, stage).map(\.failures) == [Limits.pushFailuresMax - 1])
    #expect(try await owed(nurse, stage).count == 1)
    try await stage.parley.post(.push(.settled(.service(service, node: "a"), upTo: .end, .failed)), by: nurse)
    #expect(try await registrations(nurse, stage) == [])
    #expect(!stage.parley.registries.pushes.has(nurse.id))
  }

  @Test func aRefusalOfBeforeItWasAskedForAnewDisablesNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(enable("a"), by: juliet)
    let said = try await stage.say("one", from: romeo, to: juliet).position
    try await stage.parley.post(enable("a"), by: juliet)
    for outcome in [PushOutcome.refused, .failed] {
      try await stage.parley.post(.push(.settled(.service(service, node: "a"), upTo: said, outcome)), by: juliet)
    }
    #expect(try await registrations(juliet, stage).map(\.failures) == [0])
    #expect(try await owed(juliet, stage) == [said])
    try await stage.parley.post(.push(.settled(.service(service, node: "a"), upTo: said, .taken)), by: juliet)
    #expect(try await owed(juliet, stage) == [])
  }

  @Test func patienceGrowsToItsBound() {
    #expect(Pusher.patience(after: 1) == .seconds(5))
    #expect(Pusher.patience(after: 2) == .seconds(10))
    #expect(Pusher.patience(after: 100) == PushLimits.retryMax)
    let day = (1..<Limits.pushFailuresMax).reduce(Duration.zero) { $0 + Pusher.patience(after: $1) }
    #expect(day > .seconds(20 * 3_600) && day < .seconds(40 * 3_600))
  }
}
