import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// What goes by its age, and what a hold keeps.
@Suite struct RetentionTests {
  private static let day: Int64 = 86_400_000
  private static let begin: Int64 = 1_700_000_000_000

  private func policy(privately: Int? = nil, rooms: Int? = nil, accounts: Int? = nil) -> RetentionPolicy {
    var policy = RetentionPolicy()
    func age(_ days: Int?) -> Duration? { days.map { .seconds($0 * 86_400) } }
    policy.bounds = .init(privately: age(privately), rooms: age(rooms))
    policy.accounts = age(accounts)
    return policy
  }

  private func texts(_ stage: Stage, _ dialog: DialogID) async throws -> [String] {
    try await stage.parley.read { reader in
      try reader.history(
        of: .server(dialog, .rules), after: .zero, before: .end, limit: 99, ascending: true
      ).compactMap { entry in
        guard case .message(let message) = entry.fact else { return nil }
        return message.content.text
      }
    }
  }

  @Test func messagesGoByTheAgeOfTheirKindOfDialog() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room("verona", by: juliet, with: [(romeo, .member)])
    var dialog: DialogID?
    for day in 0..<10 {
      stage.clock.set(Self.begin + Int64(day) * Self.day)
      // More than one piece.
      for _ in 0..<8 { dialog = try await stage.say("\(day)", from: romeo, to: juliet).entry?.dialog }
      _ = try await stage.say("\(day)", in: room, by: romeo)
    }
    let own = try #require(dialog)
    let state = stage.parley.registries.retention
    // Nothing goes by default.
    #expect(try await stage.accounts.retain().messages == 0)
    state.policy = policy(privately: 3)
    var report = try await stage.accounts.retain(onlyCounting: true)
    #expect((report.messages, report.dialogs) == (48, 1))
    #expect(try await texts(stage, own).count == 80)
    #expect(state.last?.messages == 0)
    report = try await stage.accounts.retain()
    #expect((report.messages, report.dialogs, report.held) == (48, 1, 0))
    #expect(try await texts(stage, own) == (6..<10).flatMap { day in (0..<8).map { _ in "\(day)" } })
    #expect(try await texts(stage, room.dialog).count == 10)
    #expect(try await stage.unread(juliet) == 32 + 10)
    #expect(state.last == report)
    // Another domain's ages are not this one's; this one's own stand before those of all.
    state.policy = policy(privately: 1, rooms: 3)
    state.policy.byDomain = ["localhost": .init(rooms: .seconds(8 * 86_400)), "mantua": .init()]
    // With the room's notices of that time.
    let counted = try await stage.accounts.retain(onlyCounting: true).messages
    #expect(try await stage.accounts.retain().messages == counted)
    #expect(try await texts(stage, own).count == 32)
    #expect(try await texts(stage, room.dialog) == (1..<10).map { "\($0)" })
    #expect(try await stage.accounts.retain().messages == 0)
    // Posts that are judged in one batch with a piece find the counts as it has left them.
    state.policy = policy(privately: 1)
    let id = try #require(try await stage.say("last", from: romeo, to: juliet).entry).id
    let run = Task { try await stage.accounts.retain() }
    for _ in 0..<5 { _ = try await stage.say("new", from: romeo, to: juliet) }
    _ = try await run.value
    #expect(try await stage.unread(juliet) == 8 + 8 + 1 + 5 + 9)
    try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(id))), by: juliet)
    #expect(try await stage.unread(juliet) == 5 + 9)
  }

  @Test func whatAllOfAPrivateDialogWantGoneGoes() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    var found: DialogID?
    for day in 0..<10 {
      stage.clock.set(Self.begin + Int64(day) * Self.day)
      found = try await stage.say("\(day)", from: romeo, to: juliet).entry?.dialog
    }
    let dialog = try #require(found)
    func want(_ days: Int?, _ user: Party) async throws {
      try await stage.parley.post(.settings(dialog, DialogSettingsDraft(retentionDays: .some(days))), by: user)
    }
    func seen(by user: Party) async throws -> Int {
      try await stage.parley.read { reader in
        guard let messages = try reader.dialog(dialog)?.messages(for: user.id) else { return -1 }
        return try reader.history(of: messages, after: .zero, before: .end, limit: 99, ascending: true).count
      }
    }
    try await want(3, juliet)
    #expect(try await stage.accounts.retain().messages == 0)
    #expect(try await seen(by: juliet) == 4)
    #expect(try await seen(by: romeo) == 10)
    #expect(try await stage.unread(juliet) == 4)
    // The longer of both wishes is for both: nobody loses what they want to keep.
    try await want(6, romeo)
    #expect(try await stage.accounts.retain(onlyCounting: true).messages == 3)
    #expect(try await stage.accounts.retain().messages == 3)
    #expect(try await texts(stage, dialog) == (3..<10).map { "\($0)" })
    #expect(try await seen(by: juliet) == 4)
    #expect(try await seen(by: romeo) == 7)
    // The operators' age is the bound of what one may want, and stands above what was wanted before.
    stage.parley.registries.retention.policy = policy(privately: 5)
    let error = await #expect(throws: Problem.self) { try await want(7, romeo) }
    #expect(error?.code == "retention-too-long")
    #expect(try await stage.accounts.retain().messages == 1)
    // A marker of what is gone from one's view counts nothing anew.
    stage.parley.registries.retention.policy = policy()
    try await want(1, juliet)
    _ = try await stage.accounts.retain()
    #expect(try await stage.unread(juliet) == 2)
    let last = try #require(
      try await stage.parley.read { reader in
        try reader.history(of: .server(dialog, .rules), after: .zero, before: .end, limit: 1, ascending: true).first
      })
    try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(last.id))), by: juliet)
    #expect(try await stage.unread(juliet) == 2)
  }

  @Test func aRoomMayHaveAShorterAgeThanTheServer() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let own = try await stage.room("verona", by: juliet, with: [(romeo, .member)])
    let plain = try await stage.room("mantua", by: juliet, with: [(romeo, .member)])
    let state = stage.parley.registries.retention
    func configure(_ days: Int?) async throws {
      _ = try await stage.act(.configure(.dialog(own.dialog), SettingsDraft { $0.retentionDays = days }), by: juliet)
    }
    for day in 0..<10 {
      stage.clock.set(Self.begin + Int64(day) * Self.day)
      for room in [own, plain] { _ = try await stage.say("\(day)", in: room, by: romeo) }
    }
    // Where the operators let everything stay, too.
    try await configure(6)
    _ = try await stage.accounts.retain()
    #expect(try await texts(stage, own.dialog) == (3..<10).map { "\($0)" })
    #expect(try await texts(stage, plain.dialog).count == 10)
    // What the operators say later is the bound, and a setting that is there stays.
    state.policy = policy(rooms: 4)
    _ = try await stage.accounts.retain()
    for room in [own, plain] { #expect(try await texts(stage, room.dialog) == (5..<10).map { "\($0)" }) }
    let error = await #expect(throws: Problem.self) { try await configure(5) }
    #expect(error?.code == "retention-too-long" && error?.field == "retentionDays")
    _ = try await stage.act(.configure(.dialog(own.dialog), SettingsDraft { $0.about = "A" }), by: juliet)
    #expect(try await stage.parley.read { try $0.room(own.dialog)?.settings.retentionDays } == 6)
    try await configure(2)
    _ = try await stage.accounts.retain()
    #expect(try await texts(stage, own.dialog) == ["7", "8", "9"])
    #expect(try await texts(stage, plain.dialog).count == 5)
    await #expect(throws: Problem.self) {
      try await stage.act(.configure(.dialog(own.dialog), SettingsDraft { $0.retentionDays = 1 }), by: romeo)
    }
  }

  @Test func aHoldKeepsWhatIsHeldAndADeletionWaits() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.say("love", from: romeo, to: juliet).entry?.dialog)
    stage.clock.set(Self.begin + 3 * Self.day)
    let accounts = stage.accounts
    stage.parley.registries.retention.policy = policy(privately: 1)
    try await accounts.hold(Hold(.user(juliet.id), in: juliet.realm, note: nil, since: stage.clock.now))
    let report = try await accounts.retain()
    #expect((report.messages, report.held) == (0, 1))
    #expect(try await accounts.retain(onlyCounting: true).held == 1)
    // The account is closed at once, and what is in it stays.
    try await accounts.finish(try await accounts.beginDeletion(of: juliet.id, erasing: true))
    #expect(try await stage.parley.read { try $0.user(juliet.id)?.state } == .disabled)
    try await accounts.resumeAccountTasks()
    #expect(try await stage.parley.read { try $0.pendingAccountTasks().count } == 1)
    #expect(try await texts(stage, dialog) == ["love"])
    try await accounts.removeHold(of: .user(juliet.id))
    try await accounts.resumeAccountTasks()
    #expect(try await stage.parley.read { try $0.user(juliet.id)?.state } == .deleted)
    #expect(try await accounts.retain().messages == 1)
    await #expect(throws: Problem.self) { try await accounts.removeHold(of: .user(juliet.id)) }
  }

  @Test func filesOfATimeWithAnotherPolicyGoByThePresentOne() async throws {
    let policy = BlobPolicy(links: BlobLinks(base: "https://files.example"), lifetime: .seconds(100 * 86_400))
    let stage = try Stage(blobs: (policy: policy, store: NoFiles()))
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let created = stage.clock.now
    func blob(_ number: UInt64, _ owner: Party, _ purpose: Blob.Purpose, days: Int64?) -> Blob {
      Blob(
        id: BlobID(PublicID(high: 0, low: number)), realm: owner.realm, owner: owner.id, name: "f", mediaType: nil,
        size: 1, purpose: purpose, state: .stored, createdAt: created,
        expiresAt: days.map { Timestamp(milliseconds: Self.begin + $0 * Self.day) })
    }
    let blobs = [
      blob(1, romeo, .message, days: 100), blob(2, romeo, .message, days: nil), blob(3, romeo, .profile, days: nil),
      blob(4, romeo, .ephemeral, days: 5), blob(5, juliet, .message, days: nil),
    ]
    try await stage.parley.work { writer in for blob in blobs { try writer.put(blob) } }
    let state = stage.parley.registries.retention
    #expect(state.policy.files == .seconds(100 * 86_400))
    try await stage.accounts.hold(Hold(.user(juliet.id), in: juliet.realm, note: nil, since: stage.clock.now))
    stage.clock.set(Self.begin + 10 * Self.day)
    #expect(try await stage.accounts.retain().files == 0)
    state.policy.files = .seconds(10 * 86_400)
    #expect(try await stage.accounts.retain(onlyCounting: true).files == 2)
    #expect(try await stage.accounts.retain().files == 2)
    let ends = try await stage.parley.read { reader in
      try reader.storedBlobs(after: nil, limit: 9).map {
        $0.expiresAt.map { ($0.milliseconds - Self.begin) / Self.day }
      }
    }
    #expect(ends == [10, 10, nil, 5, nil])
    #expect(try await stage.parley.read { try $0.storedBlobs(after: blobs[3].id, limit: 9).map(\.id) } == [blobs[4].id])
  }

  @Test func theOldestFilesGoBeyondTheBytesOfADomain() async throws {
    let policy = BlobPolicy(links: BlobLinks(base: "https://files.example"), lifetime: nil)
    let stage = try Stage(blobs: (policy: policy, store: NoFiles()))
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let begin = stage.clock.now
    func blob(_ number: UInt64, _ owner: Party, age: Int, size: Int64) -> Blob {
      Blob(
        id: BlobID(PublicID(high: 0, low: number)), realm: owner.realm, owner: owner.id, name: "f", mediaType: nil,
        size: size, purpose: .message, state: .stored, createdAt: begin + .days(-age), expiresAt: nil)
    }
    let blobs = [
      blob(1, romeo, age: 1, size: 10), blob(2, romeo, age: 4, size: 20), blob(3, juliet, age: 3, size: 40),
      blob(4, romeo, age: 2, size: 80),
    ]
    try await stage.parley.work { writer in for blob in blobs { try writer.put(blob) } }
    let state = stage.parley.registries.retention
    func kept() async throws -> [UInt64] {
      try await stage.parley.read { reader in
        try reader.storedBlobs(after: nil, limit: 9).filter { $0.expiresAt == nil }.map(\.id.value.low)
      }
    }
    try await stage.accounts.hold(Hold(.user(juliet.id), in: juliet.realm, note: nil, since: begin))
    state.policy.bounds.fileBytes = 150
    #expect(try await stage.accounts.retain().files == 0)
    // The oldest is not enough, the next is held.
    state.policy.bounds.fileBytes = 120
    #expect(try await stage.accounts.retain(onlyCounting: true).files == 2)
    #expect(try await stage.accounts.retain().files == 2)
    #expect(try await kept() == [1, 3])
    #expect(try await stage.accounts.retain().files == 0)
    // What is too old is not counted once more.
    try await stage.accounts.removeHold(of: .user(juliet.id))
    state.policy.files = .days(3)
    state.policy.bounds.fileBytes = 10
    #expect(try await stage.accounts.retain(onlyCounting: true).files == 1)
    #expect(try await stage.accounts.retain().files == 1)
    state.policy.bounds.fileBytes = 1
    #expect(try await stage.accounts.retain().files == 1)
    #expect(try await kept() == [])
  }

  @Test func accountsGoThatNobodyHasUsedForLong() async throws {
    let stage = try Stage(admins: [try BareJID("escalus@localhost")])
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (nurse, escalus) = (try await stage.user("nurse"), try await stage.user("escalus"))
    let tybalt = try await stage.user("tybalt")
    let dialog = try #require(try await stage.say("love", from: romeo, to: juliet).entry?.dialog)
    let session = try await stage.session(juliet, "balcony")
    stage.parley.registries.retention.policy = policy(accounts: 40)
    stage.clock.set(Self.begin + 30 * Self.day)
    try await stage.parley.post(.leave(stage.clock.now), by: nurse)
    try await stage.accounts.hold(Hold(.user(tybalt.id), in: tybalt.realm, note: nil, since: stage.clock.now))
    #expect(try await stage.accounts.retain().accounts == 0)
    stage.clock.set(Self.begin + 40 * Self.day)
    #expect(try await stage.accounts.retain(onlyCounting: true).accounts == 1)
    let report = try await stage.accounts.retain()
    #expect((report.accounts, report.held) == (1, 1))
    let states = try await stage.parley.read { reader in
      try [romeo, juliet, nurse, escalus, tybalt].map { try reader.user($0.id)?.state }
    }
    #expect(states == [.deleted, .active, .active, .active, .active])
    // As when an operator deletes them: the other keeps the conversation.
    #expect(try await texts(stage, dialog) == ["love"])
    #expect(session.party == juliet)
    // After a start nobody is deleted at once: who was online when a server was killed has no later sign.
    stage.clock.set(Self.begin + 70 * Self.day)
    try await stage.accounts.removeHold(of: .user(tybalt.id))
    let fresh = Accounts(stage.parley)
    #expect(try await fresh.retain().accounts == 0)
    #expect(try await stage.accounts.retain().accounts == 2)
  }
}

/// A store in which no bytes are.
private struct NoFiles: BlobStore {
  let isRemote = false
  let room: Int64 = 0
  let unsettled: [BlobID] = []
  func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter {
    throw BlobFailure(isFull: true, "")
  }
  func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter { throw BlobFailure(isFull: true, "") }
  func open(_ name: BlobName) -> (any BlobReader)? { nil }
  func remove(_ name: BlobName) {}
  func settle(_ name: BlobName) {}
}
