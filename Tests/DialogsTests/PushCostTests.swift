import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// What the pending pushes of messages cost: who is charged for them, and how many are stored.
@Suite struct PushCostTests {
  /// Five stanzas at once and one a second.
  private var slow: SendingPolicy {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    return policy
  }

  private let service = JID(parsing: "bot@localhost/push")!  // a constant

  /// Registers phones of users, none of whom has a session.
  private func sleep(_ users: [Party], _ stage: Stage) async throws {
    for user in users {
      try await stage.parley.post(
        .push(.enable(service: service, node: "a", options: nil, resource: "phone")), by: user)
    }
  }

  /// A group of so many people, of whom all but the owner have a sleeping phone.
  private func group(of count: Int, by owner: Party, _ stage: Stage) async throws -> RoomName {
    let members = try await stage.crowd(count - 1)
    let room = try await stage.room(by: owner, with: members.map { ($0, .member) })
    try await sleep(members, stage)
    wait(stage)
    return room
  }

  /// Lets a minute pass, in which every budget of the tests is full again.
  private func wait(_ stage: Stage) { stage.clock.set(stage.clock.now.milliseconds + 60_000) }

  private func budget(_ party: Party, _ stage: Stage) -> SendingBudget {
    stage.parley.sending.budget(of: party, from: nil, now: stage.clock.now)
  }

  /// The texts of the messages of which pushes to a user are pending.
  private func owed(_ user: Party, _ stage: Stage) async throws -> [String] {
    try await stage.parley.read { reader in
      try reader.pushesOwed(to: user.id, limit: 1_000).compactMap { push -> String? in
        let entry = try reader.entry(push.position, in: .server(push.dialog, .pushes))
        guard case .message(let message)? = entry?.fact else { return nil }
        return message.content.text
      }
    }
  }

  private func submit(_ intent: Intent, by author: Party, _ stage: Stage) {
    #expect(stage.parley.submit(Post(author: author, intent: intent, completion: .none)))
  }

  private func submit(_ text: String, in room: RoomName, by author: Party, _ stage: Stage) {
    submit(.room(.say(.dialog(room.dialog), stage.draft(text, app: true))), by: author, stage)
  }

  // MARK: Charges

  @Test func aMessageIsChargedByThePhonesThatItWakes() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    let room = try await group(of: 20, by: romeo, stage)
    try await stage.say("one", in: room, by: romeo)
    // 19 settings were read, and 19 rows are written and removed: two stanzas. The fixture charges none for the message.
    #expect(budget(romeo, stage).charge(stanzas: 3, bytes: 0, now: stage.clock.now) == nil)
    #expect(budget(romeo, stage).charge(stanzas: 1, bytes: 0, now: stage.clock.now) == .milliseconds(1_000))
    // Who has registered no phone costs nothing.
    let other = try await stage.user("paris")
    let quiet = try await stage.room("mantua", by: other, with: [(romeo, .member)])
    try await stage.say("two", in: quiet, by: other)
    #expect(budget(other, stage).isFull(now: stage.clock.now))
  }

  /// Fifty messages at once, each in a batch of its own, count as 100 further stanzas of the 1,000 that a user may send at once.
  @Test func whoWritesToAGroupOfSleepingPhonesNeedNotWait() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await group(of: 20, by: romeo, stage)
    for number in 0..<50 { try await stage.say("\(number)", in: room, by: romeo) }
    #expect(budget(romeo, stage).charge(stanzas: 900, bytes: 0, now: stage.clock.now) == nil)
    #expect(budget(romeo, stage).charge(stanzas: 1, bytes: 0, now: stage.clock.now) != nil)
  }

  @Test func settingsAreReadOnceInABatch() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    let room = try await group(of: 20, by: romeo, stage)
    try await stage.together(romeo) {
      for number in 0..<10 { submit("\(number)", in: room, by: romeo, stage) }
    }
    // Two stanzas for the first message and one for each further one; two for each if they were read again.
    #expect(budget(romeo, stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(6_000))
  }

  /// Posts of a batch that fails are judged again, each in a batch of its own: charged once, and pushed once.
  @Test func aBatchThatIsJudgedAgainIsChargedOnce() async throws {
    let stage = try Stage(sending: slow)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await group(of: 20, by: romeo, stage)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    try await sleep([juliet], stage)
    wait(stage)
    let session = RecordingSession(romeo)
    try await stage.together(romeo) {
      submit("one", in: room, by: romeo, stage)
      stage.submitPoison(session)
      submit("two", in: room, by: romeo, stage)
    }
    #expect(try await owed(juliet, stage) == ["one", "two"])
    // 60 rows each: six stanzas of five.
    #expect(budget(romeo, stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(1_000))
  }

  /// A client that registers again and again does not have the user's rooms read each time.
  @Test func theRoomsOfAUserAreReadOnceAndCharged() async throws {
    let stage = try Stage(sending: slow)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for number in 0..<40 { _ = try await stage.room("room\(number)", by: romeo, with: [(juliet, .member)]) }
    wait(stage)
    let enable = Intent.push(.enable(service: service, node: "a", options: nil, resource: "phone"))
    let disable = Intent.push(.disable(service: service, node: nil))
    // In one batch they are read once: two stanzas.
    try await stage.together(romeo) {
      for intent in [enable, disable, enable, disable, enable] { submit(intent, by: juliet, stage) }
    }
    #expect(budget(juliet, stage).charge(stanzas: 3, bytes: 0, now: stage.clock.now) == nil)
    #expect(budget(juliet, stage).charge(stanzas: 1, bytes: 0, now: stage.clock.now) == .milliseconds(1_000))
    wait(stage)
    for _ in 0..<20 {
      for intent in [enable, disable] { try await stage.parley.post(intent, by: juliet) }
    }
    #expect(budget(juliet, stage).isFull(now: stage.clock.now))
    // What has changed while there was no registration counts for the next one.
    let late = try await stage.room("late", by: romeo, with: [(juliet, .member)])
    let quiet = try await stage.room("quiet", by: romeo, with: [(juliet, .member)])
    try await stage.parley.post(.settings(quiet.dialog, DialogSettingsDraft(alerts: .never)), by: juliet)
    for room in [late, quiet] { try await stage.say("asleep", in: room, by: romeo) }
    try await stage.parley.post(enable, by: juliet)
    for room in [late, quiet] { try await stage.say("awake", in: room, by: romeo) }
    let rows = try await stage.parley.read { try $0.pushesOwed(to: juliet.id, limit: 9) }
    #expect(rows.map(\.dialog) == [late.dialog])
  }

  /// The rooms of users without a registration are forgotten at the bound.
  @Test func fewRoomsOfUsersWithoutARegistrationAreKept() throws {
    let stage = try Stage()
    let most = 100
    let registry = try stage.store.read { try PushRegistry($0, restingRoomsMax: most) }
    var asked = PushRegistry.Asked()
    asked.resources = ["phone"]
    let (romeo, juliet) = (UserID(1), UserID(2))
    var rooms: [DialogID: PushRegistry.Preference] = [:]
    for number in 1...most { rooms[DialogID(Int64(number))] = .member(nil) }
    registry.set(romeo, asked, rooms)
    registry.batchEnded()
    #expect(registry.knowsRooms(of: romeo))
    registry.set(romeo, .nothing, nil)
    #expect(registry.knowsRooms(of: romeo) && !registry.has(romeo))
    registry.batchEnded()
    #expect(!registry.knowsRooms(of: romeo))
    // The rooms count as they are now, and the user as one.
    registry.set(romeo, asked, rooms)
    registry.set(romeo, .nothing, nil)
    let room = DialogID(1)
    registry.forget(room)
    registry.batchEnded()
    #expect(registry.knowsRooms(of: romeo))
    registry.set(romeo, in: room, .member(nil))
    registry.batchEnded()
    #expect(!registry.knowsRooms(of: romeo))
    registry.set(juliet, asked, [room: .member(.always)])
    registry.set(juliet, .nothing, nil)
    registry.batchEnded()
    #expect(registry.listeners(in: room, usual: .always) == [])
    registry.set(juliet, asked, nil)
    #expect(registry.listeners(in: room, usual: .always) == [juliet])
  }

  @Test func whoIsElsewhereIsChargedAsWell() async throws {
    let stage = try Stage()
    stage.parley.hub.setFederation(FederationTests.Service(refusing: [], rooms: .open))
    let romeo = try await stage.user("romeo")
    let room = try await group(of: 20, by: romeo, stage)
    let realm = stage.parley.federatedRealm(of: stage.parley.realms[0].id).id
    let mercutio = Party(remote: try BareJID("mercutio@mantua.example"), realm: realm)
    try await stage.affiliate(mercutio, .member, in: room, by: romeo)
    let known = try #require(
      try await stage.act(.introduce(.address(room.address), password: nil), by: mercutio).value as? Party)
    let session = RecordingSession(known)
    try await stage.enter(room, session, "mercutio")
    wait(stage)
    let domain = stage.parley.sending.budget(of: .domain("mantua.example"), now: stage.clock.now)
    #expect(domain.isFull(now: stage.clock.now))
    try await stage.say("a plague", in: room, by: session)
    let burst = Limits.sendingDomainStanzas.burst
    #expect(domain.charge(stanzas: burst - 2, bytes: 0, now: stage.clock.now) == nil)
    #expect(domain.charge(stanzas: 1, bytes: 0, now: stage.clock.now) != nil)
  }

  // MARK: Rows

  /// However many messages come while nothing is published, a user has few rows, and those of the newest messages.
  @Test func noMoreRowsAreStoredThanPublicationsNeed() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await sleep([juliet], stage)
    let most = Limits.pushesOwedMax
    // They are in one batch.
    let first = most + most / 5
    #expect(first < Limits.batchShare)
    try await stage.together(romeo) {
      for number in 0..<first { submit("\(number)", in: room, by: romeo, stage) }
    }
    #expect(try await owed(juliet, stage) == (first - most..<first).map { "\($0)" })
    let last = first + most + most / 2
    for number in first..<last { try await stage.say("\(number)", in: room, by: romeo) }
    #expect(try await owed(juliet, stage) == (first..<last).map { "\($0)" })
  }

  /// The settings that a batch has read are those that the posts before have left.
  @Test func settingsThatChangeInABatchCountFromThereOn() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await sleep([juliet], stage)
    let gone = MemberDraft(address: juliet.address, affiliation: Affiliation.none)
    try await stage.together(romeo) {
      submit("one", in: room, by: romeo, stage)
      submit(.settings(room.dialog, DialogSettingsDraft(alerts: .never)), by: juliet, stage)
      submit("two", in: room, by: romeo, stage)
      submit(.settings(room.dialog, DialogSettingsDraft(alerts: .some(nil))), by: juliet, stage)
      submit("three", in: room, by: romeo, stage)
      submit(.room(.members(.dialog(room.dialog), [gone])), by: romeo, stage)
      submit("four", in: room, by: romeo, stage)
    }
    #expect(try await owed(juliet, stage) == ["one", "three"])
  }

  /// What removes rows behind a message in the same batch removes those of the message, too, and a batch that fails leaves none.
  @Test func rowsAreStoredInTheOrderOfPosts() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    try await sleep([juliet, nurse], stage)
    stage.store.failNext(1)
    await #expect(throws: Problem.storage) { _ = try await stage.say("lost", from: romeo, to: juliet) }
    _ = try await stage.say("kept", from: romeo, to: nurse)
    #expect(try await owed(juliet, stage) == [])
    #expect(try await owed(nurse, stage) == ["kept"])
    func message(to peer: Party) -> Intent {
      .message(
        MessageDraft(
          to: peer.address, content: Content(kind: .text, text: "late"), envelope: Envelope(type: .chat),
          traits: [.counts, .archived], key: nil))
    }
    let erased = nurse.id
    try await stage.together(romeo) {
      submit(message(to: juliet), by: romeo, stage)
      submit(.push(.disable(service: service, node: nil)), by: juliet, stage)
      submit(message(to: nurse), by: romeo, stage)
      let work = WriteTransaction { writer in
        try writer.erasePersonalData(erased)
        return true
      }
      submit(.work(work), by: nurse, stage)
    }
    for user in [juliet, nurse] {
      #expect(try await stage.parley.read { try $0.pushesOwed(to: user.id, limit: 9) } == [])
    }
  }
}
