import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// What one sender stores in a day.
@Suite struct StoredBytesTests {
  /// Six messages of 500 bytes, of which 256 are the row's.
  private static let policy: SendingPolicy = {
    var policy = SendingPolicy()
    policy.dayBytes = 3_000
    return policy
  }()
  private let text = String(repeating: "x", count: 244)

  @Test func whoHasStoredAsMuchAsOneMayWaitsForTheNextDay() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(romeo, "phone")
    for _ in 0..<6 { _ = try await stage.say(text, from: romeo, to: juliet) }
    let problem = await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    // The clock shows 6,400 seconds before midnight.
    #expect(problem?.kind == .tooFast && problem?.code == "messages-day-quota" && problem?.retryAfter == 6_400)
    #expect(problem?.text.contains("3000 bytes") == true && problem?.text.contains("6400 seconds") == true)

    // What others send still arrives, and others may still write.
    _ = phone.taken()
    _ = try await stage.say("good night", from: juliet, to: romeo)
    #expect(phone.taken() == [.said("good night", .direct)])

    stage.clock.set(stage.clock.now.milliseconds + 6_399_000)
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = try await stage.say(text, from: romeo, to: juliet)
  }

  /// Rooms and private conversations are one account of the author; what was refused is not counted.
  @Test func messagesInRoomsAreCountedAndRefusedOnesAreNot() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let stranger = Party(
      id: UserID(999), realm: juliet.realm, address: try BareJID("nobody@localhost"))
    for _ in 0..<9 {
      await #expect(throws: Problem.self) { try await stage.say(text, from: romeo, to: stranger) }
    }
    let room = try #require(try await stage.act(.create(RoomDraft(settings: .group)), by: romeo).room).name
    for _ in 0..<5 { try await stage.say(text, in: room, by: romeo) }
    _ = try await stage.say(text, from: romeo, to: juliet)
    await #expect(throws: Problem.self) { try await stage.say(text, in: room, by: romeo) }
  }

  /// A message that is due while its author has stored as much as one may is sent the next day.
  @Test func aScheduledMessageWaitsForTheNextDay() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.parley.post(.openDialog(juliet.address), by: romeo).dialog?.id)
    let scheduled = ScheduledMessages(stage.parley)
    func due(_ id: String) async throws {
      let draft = ScheduleDraft(
        dialog: dialog, due: Timestamp(milliseconds: stage.clock.now.milliseconds + 1_000),
        content: Content(kind: .text, text: text), replyTo: nil, mentions: [],
        key: RepeatKey(rule: .app, id: id, bodyHash: 1))
      _ = try await scheduled.post(.schedule(draft), by: romeo)
      stage.clock.set(stage.clock.now.milliseconds + 1_000)
    }
    // It counts as any other.
    for _ in 0..<5 { _ = try await stage.say(text, from: romeo, to: juliet) }
    try await due("s1")
    #expect(await scheduled.sendDue() == nil)
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    try await due("s2")
    // 6,398 seconds before midnight.
    #expect(await scheduled.sendDue() == Limits.scheduleLook)
    stage.clock.set(stage.clock.now.milliseconds + 6_398_000)
    #expect(await scheduled.sendDue() == nil)
    #expect(try await stage.parley.read { try $0.scheduled(of: romeo.id) }.isEmpty)
  }

  @Test func aDomainElsewhereStoresSixteenTimesAsMuch() throws {
    let stored = StoredBytes(Self.policy)
    let now = Timestamp(milliseconds: 0)
    let romeo = Party(remote: try BareJID("romeo@mantua.example"), realm: RealmID(-1))
    let paris = Party(remote: try BareJID("paris@mantua.example"), realm: RealmID(-1))
    let other = Party(remote: try BareJID("romeo@padua.example"), realm: RealmID(-1))
    stored.add(47_000, of: romeo, at: now)
    try stored.check(1_000, of: paris, at: now)
    let problem = #expect(throws: Problem.self) { try stored.check(1_001, of: paris, at: now) }
    #expect(problem?.retryAfter == 86_400)
    try stored.check(48_000, of: other, at: now)
    try stored.check(48_000, of: paris, at: Timestamp(milliseconds: 86_400_000))
  }
}
