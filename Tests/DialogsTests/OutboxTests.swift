import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Synchronization
import Testing

@testable import Dialogs

/// What users elsewhere must get, until their server has taken it (`Dialogs/Federation/Outbox.swift`).
@Suite struct OutboxTests {
  /// Has a link for every pair that it is asked for, which hears everything.
  private final class Elsewhere: FederationService {
    private let links = Mutex<[DomainPair: RecordingSession]>([:])

    func refusal(of domain: String, from local: String) -> Problem? { nil }
    func link(_ pair: DomainPair) -> (any LiveSession)? { recording(pair) }
    func recording(_ pair: DomainPair) -> RecordingSession {
      links.withLock { links in
        if let link = links[pair] { return link }
        let link = RecordingSession(Party(id: UserID(0), realm: RealmID(-1), address: .nowhere))
        links[pair] = link
        return link
      }
    }
  }

  /// The rows of a deleted user leave piece by piece; what waits beside them is not counted again for each.
  @Test func rowsThatGoWithTheirAuthorAreCountedNoMore() {
    let mantua = DomainPair(local: "localhost", remote: "mantua.example")
    let padua = DomainPair(local: "localhost", remote: "padua.example")
    let (romeo, juliet) = (UserID(1), UserID(2))
    var ledger = OutboxLedger([], [], head: .zero)
    ledger.pairs = [
      mantua: OutboxLedger.Waiting(number: 1, rows: 3), padua: OutboxLedger.Waiting(number: 2, rows: 5),
    ]
    ledger.authors = [romeo: 5, juliet: 3]
    let emptied = ledger.forget([1: 3, 2: 1], of: romeo)
    #expect(emptied == [mantua])
    #expect(ledger.pairs[mantua] == nil && ledger.pairs[padua]?.rows == 4)
    #expect(ledger.authors == [romeo: 1, juliet: 3])
  }

  private struct Cast {
    let stage: Stage
    let elsewhere = Elsewhere()
    let romeo: Party
    let mantua = DomainPair(local: "localhost", remote: "mantua.example")
    let padua = DomainPair(local: "localhost", remote: "padua.example")
    /// A user of Mantua, whom nobody knows yet, and one of Padua.
    let balthasar: Party
    let friar: Party

    init() async throws {
      stage = try Stage()
      stage.parley.hub.setFederation(elsewhere)
      romeo = try await stage.user("romeo")
      let realm = stage.parley.federatedRealm(of: romeo.realm).id
      balthasar = Party(remote: try BareJID("balthasar@mantua.example"), realm: realm)
      friar = Party(remote: try BareJID("friar@padua.example"), realm: realm)
    }

    var link: RecordingSession { elsewhere.recording(mantua) }

    func waiting(for pair: DomainPair? = nil, after: Position = .zero) async throws -> [OutboxRow] {
      let pair = pair ?? mantua
      return try await stage.parley.read { try $0.outbox(of: pair, after: after, limit: 2_000) }
    }
    func report(_ intent: OutboxIntent, by author: Party? = nil) async throws -> Receipt {
      try await stage.parley.post(.outbox(intent), by: author ?? Parley.nobody)
    }
    @discardableResult
    func say(_ text: String, to peer: Party? = nil) async throws -> Entry {
      try #require(try await stage.say(text, from: romeo, to: peer ?? balthasar).entry)
    }
    /// Lets a stanza wait for a domain. Returns the pair.
    func fill(_ domain: String, id: String = "d") async throws -> DomainPair {
      let stanza = RelayedStanza(
        name: .message(.normal), from: romeo, fromResource: nil, to: try BareJID("hall@\(domain)"), toResource: nil,
        id: id, extras: [])
      _ = try await report(.owe(stanza), by: romeo)
      return DomainPair(local: "localhost", remote: domain)
    }
    /// What is stored of pairs.
    func states() async throws -> [DomainPairState] {
      try await stage.parley.read { try $0.records(DomainPairState.self) }
    }
    func wait(_ seconds: Int64) { stage.clock.set(stage.clock.now.milliseconds + seconds * 1_000) }
    func state(of entry: Entry) async throws -> MessageState? {
      try await stage.parley.read { try $0.entry(entry.position, in: entry.dialog)?.state }
    }
  }

  @Test func whatIsSaidWaitsInOrderUntilItIsTaken() async throws {
    let cast = try await Cast()
    let said = [try await cast.say("a"), try await cast.say("b"), try await cast.say("c")]
    // The link gets the rows, and the entries in no other way.
    #expect(cast.link.taken() == [.owed("a"), .owed("b"), .owed("c")])
    let rows = try await cast.waiting()
    #expect(rows.map(\.position) == said.map(\.position))
    #expect(rows.map(\.summary) == ["a", "b", "c"])
    #expect(rows.map(\.expiresAt) == said.map { $0.time + Limits.federationGiveUp })
    _ = try await cast.report(.taken(cast.mantua, through: said[1].position))
    #expect(try await cast.waiting().map(\.summary) == ["c"])
    // Reported again, also for what is not there yet.
    _ = try await cast.report(.taken(cast.mantua, through: said[0].position))
    _ = try await cast.report(.taken(cast.padua, through: .end))
    #expect(try await cast.waiting().map(\.summary) == ["c"])
    _ = try await cast.report(.taken(cast.mantua, through: .end))
    #expect(try await cast.waiting().isEmpty)
    #expect(try await cast.state(of: said[0]) == nil)
  }

  @Test func rowsOfTwoPairsAreApart() async throws {
    let cast = try await Cast()
    let first = try await cast.say("a")
    let second = try await cast.say("b", to: cast.friar)
    try await cast.say("c")
    #expect(cast.link.taken() == [.owed("a"), .owed("c")])
    #expect(cast.elsewhere.recording(cast.padua).taken() == [.owed("b")])
    _ = try await cast.report(.taken(cast.mantua, through: second.position))
    #expect(try await cast.waiting().map(\.summary) == ["c"])
    #expect(try await cast.waiting(for: cast.padua).map(\.summary) == ["b"])
    #expect(try await cast.waiting(after: first.position).map(\.summary) == ["c"])
    let pairs = try await cast.stage.parley.read { try $0.outboxPairs() }
    #expect(pairs.map(\.pair) == [cast.mantua, cast.padua])
    #expect(pairs.map(\.rows) == [1, 1])
  }

  @Test func aCrashBetweenSendingAndTakingLeavesTheRowsAsTheyWere() async throws {
    let cast = try await Cast()
    let entry = try await cast.say("a")
    try await cast.say("b")
    // Another core over the same store, as after a crash: it knows no session and no number of rows.
    let again = try Parley(
      store: cast.stage.store, clock: cast.stage.clock, options: Parley.Options(domains: ["localhost"]),
      logger: cast.stage.parley.logger)
    let elsewhere = Elsewhere()
    again.hub.setFederation(elsewhere)
    let rows = try await again.read { try $0.outbox(of: cast.mantua, after: .zero, limit: 9) }
    guard case .entry(let found)? = rows.first?.item else { throw StageError.full }
    #expect(found.id == entry.id)
    #expect(rows.map(\.summary) == ["a", "b"])
    // What is said now is behind it.
    let draft = MessageDraft(
      to: cast.balthasar.address, content: Content(kind: .text, text: "c"), envelope: Envelope(type: .chat),
      traits: [.counts], key: nil)
    try await again.post(.message(draft), by: cast.romeo)
    #expect(elsewhere.recording(cast.mantua).taken() == [.owed("c")])
    try await again.post(.outbox(.taken(cast.mantua, through: .end)), by: Parley.nobody)
    #expect(try await again.read { try $0.outboxTotals() } == [])
  }

  @Test func whatIsGivenUpIsToldToItsAuthor() async throws {
    let cast = try await Cast()
    let phone = try await cast.stage.session(cast.romeo, "phone")
    let app = try await cast.stage.session(cast.romeo, "app", door: .app)
    let first = try await cast.say("a")
    cast.wait(1_000)
    let second = try await cast.say("b")
    _ = (phone.taken(), app.taken())
    let expiry = OutboxExpiry(cast.stage.parley)
    #expect(await expiry.expire() == .seconds(2_600))
    #expect(phone.taken() == [])
    cast.wait(2_600)
    #expect(await expiry.expire() == .seconds(1_000))
    #expect(phone.taken() == [.undelivered(first.position, "remote-server-timeout")])
    #expect(app.taken() == [.undelivered(first.position, "remote-server-timeout")])
    #expect(try await cast.waiting().map(\.summary) == ["b"])
    let state = try await cast.state(of: first)
    #expect(state?.failure == .timedOut("mantua.example"))
    #expect(state?.revision == 1)
    #expect(try await cast.state(of: second) == nil)
    cast.wait(1_000)
    #expect(await expiry.expire() == Limits.federationGiveUp)
    #expect(phone.taken() == [.undelivered(second.position, "remote-server-timeout")])
    #expect(try await cast.stage.parley.read { try $0.outboxTotals() } == [])
  }

  private func changed(_ entry: Entry) -> Heard {
    .perUser(PerUserMessageChange(.delivery, in: entry.dialog, target: entry.position))
  }

  @Test func whatWaitsForLongIsToldAndThatItIsTaken() async throws {
    let cast = try await Cast()
    let phone = try await cast.stage.session(cast.romeo, "phone")
    let app = try await cast.stage.session(cast.romeo, "app", door: .app)
    let (first, second, third) = (try await cast.say("a"), try await cast.say("b"), try await cast.say("c"))
    _ = (phone.taken(), app.taken())
    // Once, and of no later ones.
    for _ in 1...2 { _ = try await cast.report(.overdue(cast.mantua, through: second.position)) }
    #expect(app.taken() == [changed(first), changed(second)])
    #expect(
      try await cast.state(of: first) == MessageState(version: third.position + 1, revision: 1, delivery: .queued))
    #expect(try await cast.state(of: third) == nil)
    // Another core over the same store knows what was told.
    let again = try Parley(
      store: cast.stage.store, clock: cast.stage.clock, options: Parley.Options(domains: ["localhost"]),
      logger: cast.stage.parley.logger)
    let position = try await again.read { try $0.head().position }
    try await again.post(.outbox(.overdue(cast.mantua, through: .end)), by: Parley.nobody)
    try await again.post(.outbox(.taken(cast.mantua, through: second.position)), by: Parley.nobody)
    let feed = try await again.read { try $0.feed(of: cast.romeo.id, after: position, limit: 9) }
    let told = feed.compactMap { if case .perUser(let change) = $0.fact { change.target } else { nil } }
    #expect(told == [third.position, first.position, second.position])
    #expect(try await cast.state(of: first)?.delivery == nil)
    #expect(try await cast.state(of: first)?.revision == 2)
    #expect(try await cast.state(of: third)?.delivery == .queued)
    // What waits may fail, too.
    try await again.post(
      .outbox(.bounce(cast.mantua, positions: .zero ... .end, .timedOut("mantua.example"))), by: Parley.nobody)
    #expect(try await cast.state(of: third)?.failure == .timedOut("mantua.example"))
    #expect(try await cast.state(of: third)?.revision == 2)
    // XMPP has nothing for it.
    #expect(phone.taken() == [])
  }

  @Test func manyThatWaitAreToldInSeveralSteps() async throws {
    let cast = try await Cast()
    let app = try await cast.stage.session(cast.romeo, "app", door: .app)
    let count = 2 * Limits.outboxToldAtOnce + 1
    for number in 0..<count { try await cast.say("\(number)") }
    _ = app.taken()
    _ = try await cast.report(.overdue(cast.mantua, through: .end))
    func told(_ count: Int) async throws -> [Heard] {
      var heard: [Heard] = []
      while heard.count < count {
        _ = try await cast.report(.taken(cast.padua, through: .zero))
        heard += app.taken()
      }
      return heard
    }
    #expect(try await told(count).count == count)
    _ = try await cast.report(.taken(cast.mantua, through: .end))
    #expect(try await told(count).count == count)
    #expect(try await cast.waiting().isEmpty)
  }

  /// Rows that were taken and are still to be removed are not given up.
  @Test func whatWasTakenIsNotGivenUpMeanwhile() async throws {
    let cast = try await Cast()
    var said: [Entry] = []
    for number in 0...2 * Limits.outboxToldAtOnce { said.append(try await cast.say("\(number)")) }
    let end = try #require(said.last).position
    for first in stride(from: 0, to: said.count, by: Limits.outboxToldAtOnce) {
      let last = min(first + Limits.outboxToldAtOnce, said.count) - 1
      _ = try await cast.report(.overdue(cast.mantua, through: said[last].position))
    }
    // An earlier report, of which a part was left as well, comes between.
    let intents: [OutboxIntent] = [
      .taken(cast.mantua, through: end), .taken(cast.mantua, through: said[150].position),
      .bounce(cast.mantua, positions: .zero ... .end, .timedOut("mantua.example")),
    ]
    cast.stage.parley.submitSurely(
      intents.map { Post(author: Parley.nobody, intent: .outbox($0), completion: .none) })
    // Its outcome comes when all are removed.
    _ = try await cast.report(.taken(cast.mantua, through: end))
    #expect(try await cast.waiting().isEmpty)
    for entry in said {
      let state = try await cast.state(of: entry)
      #expect(state?.delivery == nil && state?.failure == nil && state?.revision == 2)
    }
  }

  @Test func anAuthorWhoIsAwayFindsItInTheLogAndNotInTheArchive() async throws {
    let cast = try await Cast()
    let entry = try await cast.say("a")
    let failure = FederationFailure.notFound("mantua.example")
    _ = try await cast.report(.bounce(cast.mantua, positions: .zero ... .end, failure))
    let (feed, replay, archive) = try await cast.stage.parley.read { reader in
      (
        try reader.feed(of: cast.romeo.id, after: entry.position, limit: 9),
        try reader.replay(of: cast.romeo.id, after: .zero, limit: 9),
        try reader.archive(of: cast.romeo.id, ArchiveQuery(limit: 9)).entries
      )
    }
    #expect(feed.map(\.position) == replay.map(\.position))
    guard case .undelivered(let undelivered)? = feed.first?.fact else { throw StageError.full }
    #expect(undelivered.target == entry.position)
    #expect(undelivered.peer.address == cast.balthasar.address)
    #expect(undelivered.failure == failure)
    #expect(archive.map(\.position) == [entry.position])
  }

  @Test func theDeviceThatWroteIsTold() async throws {
    let cast = try await Cast()
    let phone = try await cast.stage.session(cast.romeo, "phone")
    let desk = try await cast.stage.session(cast.romeo, "desk")
    cast.stage.parley.hub.update(desk) { $0.carbons = true }
    let draft = MessageDraft(
      to: cast.balthasar.address, content: Content(kind: .text, text: "a"),
      envelope: Envelope(type: .chat, fromResource: "phone", toResource: "inn", id: "m1"), traits: [.counts], key: nil)
    let receipt = try await cast.stage.parley.post(.message(draft), by: cast.romeo)
    _ = (phone.taken(), desk.taken())
    _ = try await cast.report(.bounce(cast.mantua, positions: .zero ... .end, .notFound("mantua.example")))
    let heard = phone.deliveries()
    guard case .entry(let entry, .direct)? = heard.first, case .undelivered(let undelivered) = entry.fact else {
      throw StageError.full
    }
    #expect(heard.count == 1)
    #expect(undelivered.target == receipt.entry?.position)
    #expect([undelivered.stanzaID, undelivered.fromResource, undelivered.toResource] == ["m1", "phone", "inn"])
    guard case .entry(_, .carbonReceived)? = desk.deliveries().first else { throw StageError.full }
  }

  @Test func anErrorOfTheOtherServerIsTheSame() async throws {
    let cast = try await Cast()
    let draft = MessageDraft(
      to: cast.balthasar.address, content: Content(kind: .text, text: "a"), envelope: Envelope(type: .chat, id: "m1"),
      traits: [.counts], key: RepeatKey(rule: .xmpp, id: "m1", bodyHash: 1))
    let entry = try #require(try await cast.stage.parley.post(.message(draft), by: cast.romeo).entry)
    let phone = try await cast.stage.session(cast.romeo, "phone")
    _ = try await cast.report(.taken(cast.mantua, through: .end))
    let failure = FederationFailure(.cancel, "service-unavailable", "No such user.")
    func report(_ id: String, by author: Party) async throws -> Bool {
      try await cast.report(.failed(message: id, to: cast.romeo.address, failure), by: author).isRepeat
    }
    // Neither an id that nobody gave, nor a message to somebody else.
    #expect(try await report("m2", by: cast.balthasar))
    #expect(try await report("m1", by: cast.friar))
    #expect(phone.taken() == [])
    #expect(try await !report("m1", by: cast.balthasar))
    #expect(phone.taken() == [.undelivered(entry.position, "service-unavailable")])
    #expect(try await cast.state(of: entry)?.failure == failure)
    // Said again it is no news. An app's message is found by its public id.
    #expect(try await !report("m1", by: cast.balthasar))
    #expect(phone.taken() == [])
    let app = try await cast.say("b")
    _ = phone.taken()
    #expect(try await !report(app.id.description, by: cast.balthasar))
    #expect(phone.taken() == [.undelivered(app.position, "service-unavailable")])
  }

  @Test func subscriptionsWaitAsWell() async throws {
    let cast = try await Cast()
    try await cast.say("a")
    try await cast.stage.parley.post(
      .subscription(.subscribe, to: cast.balthasar.address, stanza: Array("<nick/>".utf8)), by: cast.romeo)
    try await cast.say("b")
    let rows = try await cast.waiting()
    #expect(rows.map(\.summary) == ["a", "presence(\"subscribe\") to balthasar@mantua.example", "b"])
    guard case .stanza(let stanza) = rows[1].item else { throw StageError.full }
    #expect(stanza.from == cast.romeo)
    #expect(stanza.extras == Array("<nick/>".utf8))
    let phone = try await cast.stage.session(cast.romeo, "phone")
    _ = try await cast.report(
      .bounce(cast.mantua, positions: rows[1].position...rows[1].position, .notFound("mantua.example")))
    #expect(phone.taken() == [.undelivered(.zero, "remote-server-not-found")])
    #expect(try await cast.waiting().map(\.summary) == ["a", "b"])
  }

  @Test func markersWaitAndNobodyIsToldWhenTheyAreGivenUp() async throws {
    let cast = try await Cast()
    let draft = MessageDraft(
      to: cast.romeo.address, content: Content(kind: .text, text: "a"), envelope: Envelope(type: .chat, id: "r1"),
      traits: [.counts, .markable], key: RepeatKey(rule: .xmpp, id: "r1", bodyHash: 1))
    try await cast.stage.parley.post(.message(draft), by: cast.balthasar)
    let stanza = (
      content: Content(kind: .none, extras: Array("<displayed/>".utf8)),
      envelope: Envelope(type: .chat, fromResource: "phone", id: "d1"), traits: Message.Traits()
    )
    try await cast.stage.parley.post(
      .marker(MarkerDraft(with: cast.balthasar.address, kind: .displayed, target: .stanza("r1"), stanza: stanza)),
      by: cast.romeo)
    let rows = try await cast.waiting()
    guard case .stanza(let sent)? = rows.first?.item else { throw StageError.full }
    #expect(sent.id == "d1")
    #expect(sent.extras == stanza.content.extras)
    let phone = try await cast.stage.session(cast.romeo, "phone")
    _ = try await cast.report(.bounce(cast.mantua, positions: .zero ... .end, .notFound("mantua.example")))
    #expect(phone.taken() == [])
    #expect(try await cast.waiting().isEmpty)
  }

  @Test func anInvitationIsTheRooms() async throws {
    let cast = try await Cast()
    let made = try await cast.stage.parley.post(
      .room(.create(RoomDraft(localpart: "ball", settings: .group))), by: cast.romeo)
    let room = try #require(made.room)
    try await cast.stage.parley.post(
      .room(.invite(.dialog(room.id), to: cast.balthasar.address, reason: "Come")), by: cast.romeo)
    let rooms = DomainPair(local: "conference.localhost", remote: "mantua.example")
    let rows = try await cast.waiting(for: rooms)
    guard case .entry(let entry)? = rows.first?.item, case .invitation(let invitation) = entry.fact else {
      throw StageError.full
    }
    #expect(invitation.inviter.id == cast.romeo.id)
    #expect(invitation.reason == "Come")
    #expect(entry.author.address == cast.balthasar.address)
    #expect(cast.elsewhere.recording(rooms).taken() == [.owed("invitation")])
  }

  @Test func aStanzaOfTheDoorWaitsToo() async throws {
    let cast = try await Cast()
    let stanza = RelayedStanza(
      name: .message(.normal), from: cast.romeo, fromResource: "phone", to: try BareJID("hall@rooms.mantua.example"),
      toResource: nil, id: "d1", extras: Array("<decline/>".utf8))
    _ = try await cast.report(.owe(stanza), by: cast.romeo)
    let rooms = DomainPair(local: "localhost", remote: "rooms.mantua.example")
    #expect(try await cast.waiting(for: rooms).count == 1)
    #expect(cast.elsewhere.recording(rooms).taken().count == 1)
  }

  @Test func tooMuchThatWaitsIsRefused() async throws {
    let cast = try await Cast()
    for number in 0..<Limits.outboxRowsPerAuthorMax {
      let draft = MessageDraft(
        to: cast.balthasar.address, content: Content(kind: .text, text: "\(number)"), envelope: Envelope(type: .chat),
        traits: [], key: nil)
      #expect(cast.stage.parley.submit(Post(author: cast.romeo, intent: .message(draft), completion: .none)))
    }
    // All servers together count, and only one author.
    let problem = await #expect(throws: Problem.self) { try await cast.say("more", to: cast.friar) }
    #expect(problem?.code == "outbox-full")
    #expect(problem?.kind == .overloaded)
    let mercutio = try await cast.stage.user("mercutio")
    _ = try await cast.stage.say("hi", from: mercutio, to: cast.balthasar)
    // So many are given up in several steps, and each is told.
    let phone = try await cast.stage.session(cast.romeo, "phone")
    _ = try await cast.report(.bounce(cast.mantua, positions: .zero ... .end, .notFound("mantua.example")))
    repeat { _ = try await cast.report(.taken(cast.padua, through: .zero)) } while try await !cast.waiting().isEmpty
    _ = try await cast.report(.taken(cast.padua, through: .zero))
    #expect(phone.taken().count == Limits.outboxRowsPerAuthorMax)
    try await cast.say("more", to: cast.friar)
  }

  /// Many authors together fill a pair, each within their own bound.
  @Test func whatWaitsForOnePairIsBounded() throws {
    let (full, other) = (
      DomainPair(local: "localhost", remote: "mantua.example"), DomainPair(local: "localhost", remote: "padua.example")
    )
    func ledger(rows: Int) -> OutboxLedger {
      OutboxLedger(
        [DomainPairState(id: 1, full), DomainPairState(id: 2, other)],
        (0..<rows / 500).map {
          OutboxTotal(pair: 1, author: UserID(Int64($0)), rows: 500, expiresAt: Timestamp(milliseconds: 0))
        }, head: .zero)
    }
    let stranger = UserID(1_000_000)
    #expect(!ledger(rows: Limits.outboxRowsPerPairMax - 500).isFull(for: stranger, full))
    let ledger = ledger(rows: Limits.outboxRowsPerPairMax)
    #expect(ledger.isFull(for: stranger, full))
    #expect(!ledger.isFull(for: stranger, other))
    // What accepted posts entail may exceed it, up to twice as much.
    #expect(!ledger.isFull(for: stranger, full, times: 2))
  }

  @Test func aFailedBatchLeavesNoRowAndNoCount() async throws {
    let cast = try await Cast()
    try await cast.say("a")
    cast.stage.store.failNext(1)
    await #expect(throws: Problem.self) { try await cast.say("lost") }
    try await cast.say("b")
    #expect(try await cast.waiting().map(\.summary) == ["a", "b"])
    #expect(cast.link.taken() == [.owed("a"), .owed("b")])
    let totals = try await cast.stage.parley.read { try $0.outboxTotals() }
    #expect(totals.map(\.rows) == [2])
  }

  @Test func attemptsAreRemembered() async throws {
    let cast = try await Cast()
    let next = Timestamp(milliseconds: 5)
    // Of a domain for which nothing waits, nothing is remembered.
    _ = try await cast.report(.attempted(cast.mantua, failures: 1, next: next, reason: "no answer"))
    #expect(try await cast.states() == [])
    try await cast.say("a")
    _ = try await cast.report(.attempted(cast.mantua, failures: 2, next: next, reason: "no answer"))
    _ = try await cast.report(.verified(cast.mantua))
    let found = try await cast.stage.parley.read { try $0.state(of: cast.mantua) }
    #expect(found?.failures == 2)
    #expect(found?.nextAttemptAt == next)
    #expect(found?.reason == "no answer")
    #expect(found?.verifiedAt != nil)
    _ = try await cast.report(.attempted(cast.mantua, failures: 0, next: nil, reason: nil))
    #expect(try await cast.stage.parley.read { try $0.state(of: cast.mantua) }?.failures == 0)
  }

  /// Anybody makes any number of domains: a pair is removed some time after its last row, unless its certificate is remembered.
  @Test func pairsForWhichNothingWaitsAreRemoved() async throws {
    let cast = try await Cast()
    _ = try await cast.report(.verified(cast.mantua))
    for number in 0..<Limits.outboxPairsEmptiedMax - 1 {
      let pair = try await cast.fill("a\(number).example")
      _ = try await cast.report(.taken(pair, through: .end))
    }
    // One that is emptied again and again is neither removed nor inserted.
    for text in ["a", "b"] {
      let pair = try await cast.fill("a0.example", id: text)
      _ = try await cast.report(.taken(pair, through: .end))
    }
    #expect(try await cast.states().count == Limits.outboxPairsEmptiedMax)
    let waiting = try await cast.fill("a1.example", id: "c")
    try await cast.say("a")
    // A batch that fails removes nothing, and leaves all of them to the next one.
    cast.stage.store.failNext(1)
    await #expect(throws: Problem.self) { _ = try await cast.report(.taken(cast.mantua, through: .end)) }
    #expect(try await cast.states().count == Limits.outboxPairsEmptiedMax)
    _ = try await cast.report(.taken(cast.mantua, through: .end))
    let left = try await cast.states()
    #expect(Set(left.map(\.pair)) == [cast.mantua, waiting])
    // It comes back as it was.
    try await cast.say("b")
    #expect(try await cast.waiting().map(\.summary) == ["b"])
    let stored = try await cast.stage.parley.read { try $0.state(of: cast.mantua) }
    #expect(stored?.verifiedAt != nil)
  }

  @Test func whatIsKnownOfCertificatesIsRemoved() async throws {
    let cast = try await Cast()
    try await cast.say("a")
    for pair in [cast.mantua, cast.padua] { _ = try await cast.report(.verified(pair)) }
    // What was found since is kept.
    let now = cast.stage.clock.now
    _ = try await cast.report(.unverified([cast.mantua, cast.padua], before: now))
    let kept = try await cast.states()
    #expect(kept.count == 2 && kept.allSatisfy { $0.verifiedAt != nil })
    _ = try await cast.report(.unverified([cast.mantua, cast.padua], before: now + .milliseconds(1)))
    let states = try await cast.states()
    #expect(states.map(\.pair) == [cast.mantua])
    #expect(states.first?.verifiedAt == nil)
    #expect(try await cast.waiting().map(\.summary) == ["a"])
  }

  @Test func theLedgerHasThePairsWithRows() {
    let pair = DomainPair(local: "localhost", remote: "mantua.example")
    let other = DomainPair(local: "localhost", remote: "padua.example")
    let ledger = OutboxLedger(
      [DomainPairState(id: 1, pair), DomainPairState(id: 2, other)],
      [OutboxTotal(pair: 1, author: UserID(1), rows: 2, expiresAt: Timestamp(milliseconds: 0))], head: .zero)
    #expect(ledger.pairs.mapValues(\.rows) == [pair: 2])
  }

  @Test func rowsOfManyPairsExpire() async throws {
    let cast = try await Cast()
    for number in 0...Limits.outboxExpiriesAtOnce { _ = try await cast.fill("a\(number).example") }
    cast.wait(3_600)
    #expect(await OutboxExpiry(cast.stage.parley).expire() == Limits.federationGiveUp)
    #expect(try await cast.stage.parley.read { try $0.outboxTotals() } == [])
  }

  @Test func localUsersHaveNoOutbox() async throws {
    let cast = try await Cast()
    let juliet = try await cast.stage.user("juliet")
    _ = try await cast.stage.say("hi", from: cast.romeo, to: juliet)
    let (totals, pairs) = try await cast.stage.parley.read { (try $0.outboxTotals(), try $0.outboxPairs()) }
    #expect(totals == [])
    #expect(pairs == [])
  }
}
