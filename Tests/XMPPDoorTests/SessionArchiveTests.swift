import Addresses
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// What a stop stores of sessions that can be resumed, and what their clients are sent by the next process.
@Suite(.timeLimit(.minutes(1))) struct SessionArchiveTests {
  // MARK: Values

  private func bytes(_ text: String) -> Sent { .bytes(ByteBuffer(string: text)) }

  private func stored(_ stanzas: ArraySlice<StoredStanza>) -> [UInt8] {
    var buffer = ByteBuffer()
    for stanza in stanzas { stanza.write(into: &buffer) }
    return Array(buffer.readableBytesView)
  }

  @Test func stanzasAreReadAsTheyWereStored() {
    let stanzas: [StoredStanza] = [
      .bytes(ByteBuffer(string: "<presence/>")), .entry(Position(7), in: DialogID(2), .carbonSent),
      .bytes(ByteBuffer()),
      .result(Position(9), in: DialogID(3), ArchiveResult(queryID: "q", archive: .roomWithAddresses)),
      .result(Position(.max), in: DialogID(4), ArchiveResult(queryID: nil, archive: .user)),
    ]
    let parts = [stored(stanzas[..<2]), stored(stanzas[2...])]
    #expect(StoredStanza.all(in: parts) == stanzas)
    #expect(StoredStanza.all(in: []) == [])
    #expect(StoredStanza.all(in: [Array(parts[0].dropLast())]) == nil)
    #expect(StoredStanza.all(in: [[9]]) == nil)
    // The stored form stays: the next release reads it.
    #expect(stored(stanzas[1...1]) == [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 2])
    #expect(stored(stanzas[2...2]) == [0, 0, 0, 0, 0])
  }

  @Test func aMarkerIsStoredAsBytesSinceALaterOneReplacesIt() throws {
    let (romeo, juliet) = (try person("romeo@montague.lit"), try person("juliet@capulet.lit"))
    let mark = Mark(dialog: DialogID(1), user: romeo.id)
    let marker = Entry(
      position: Position(5), time: someTime, dialog: DialogID(1), author: romeo, place: .peer(juliet),
      fact: .marker(
        Marker(
          kind: .delivered, mark: mark, target: Position(4), targetID: PublicID(high: 0, low: 4), targetStanzaID: "m4",
          stanza: nil, told: true, asked: true)),
      id: PublicID(high: 0, low: 5))
    let said = message(6, from: romeo, to: juliet, extras: "<body>Hist!</body>")
    let stored = [Sent.entry(marker, .direct), .entry(said, .direct)].map { StoredStanza($0) { _, _ in [1, 2] } }
    #expect(stored == [.bytes(ByteBuffer(bytes: [1, 2])), .entry(Position(6), in: DialogID(1), .direct)])
  }

  /// XMPP clients are sent the fallback of an app's content alone, but the entry that is kept for them has all of it.
  @Test func aResultCostsTheWholeContentOfAnApp() throws {
    let (romeo, juliet) = (try person("romeo@montague.lit"), try person("juliet@capulet.lit"))
    let content = Content(kind: .custom, text: "Hist!", fields: String(repeating: "x", count: 60_000))
    let entry = Entry(
      position: Position(5), time: someTime, dialog: DialogID(1), author: romeo, place: .peer(juliet),
      fact: .message(
        Message(
          sequence: 1, content: content, envelope: Envelope(type: .chat), traits: [.archived, .fromApp])),
      id: PublicID(high: 0, low: 5))
    let result = Sent.result(entry, ArchiveResult(queryID: nil, archive: .user))
    #expect(result.byteCount == 60_005 + DoorLimits.archiveResultBytes)
    #expect(result.resentBytes == result.byteCount)
  }

  /// Clients choose the ids of their messages and queries, as long as a stanza may be.
  @Test func longIDsCount() throws {
    let (romeo, juliet) = (try person("romeo@montague.lit"), try person("juliet@capulet.lit"))
    let long = String(repeating: "i", count: 9_000)
    let said = message(6, from: romeo, to: juliet, extras: "<body>Hist!</body>", id: long)
    let result = Sent.result(said, ArchiveResult(queryID: String(repeating: "q", count: 5_000), archive: .user))
    let bytes = 14_000 + "<body>Hist!</body>".utf8.count + DoorLimits.archiveResultBytes
    #expect([result.byteCount, result.resentBytes] == [bytes, bytes])
    #expect(result.storedBytes == 5_000 + DoorLimits.archivedEntryBytes)
    #expect(Sent.entry(said, .direct).resentBytes == bytes - 5_000)
    let marker = Entry(
      position: Position(7), time: someTime, dialog: DialogID(1), author: juliet, place: .peer(romeo),
      fact: .marker(
        Marker(
          kind: .displayed, mark: Mark(dialog: DialogID(1), user: juliet.id), target: Position(6),
          targetID: PublicID(high: 0, low: 6), targetStanzaID: long, stanza: nil, told: true, asked: true)),
      id: PublicID(high: 0, low: 7))
    #expect(Sent.entry(marker, .direct).storedBytes == 9_000)
  }

  private func session(_ byteCount: Int) -> SuspendedSession {
    SuspendedSession(
      user: UserID(1), stream: StreamNonce(high: 1, low: 1), expires: someTime,
      state: [UInt8](repeating: 0, count: byteCount - 1), stanzas: [1])
  }

  @Test func theLargestSessionsAreNotStored() {
    var share = ArchiveShare(sizes: [400, 100, .max, 300, 200], bytesMax: 650)
    #expect(share.sizeMax == 300)
    let results = [
      share.store(400) { session(400) }, share.store(300) { session(280) }, share.store(.max) { session(1) },
      // Its size was estimated too low.
      share.store(200) { session(371) }, share.store(200) { session(370) },
    ]
    #expect(results == [nil, session(280), nil, nil, session(370)])
    #expect([share.bytes, share.bytesLeft, share.tooLarge, share.withoutRoom] == [650, 0, 1, 2])
  }

  /// Where all fit, an estimate that was too low keeps nobody out.
  @Test func allSessionsAreStoredThatHaveRoom() {
    var share = ArchiveShare(sizes: [20, 10], bytesMax: 650)
    let result = share.store(30) { session(40) }
    #expect(result == session(40))
    #expect([share.bytes, share.bytesLeft, share.tooLarge, share.withoutRoom] == [40, 610, 0, 0])
  }

  @Test func allSessionsStoreAShareOfTheMemory() {
    for (memory, most) in [(1 << 28, 1 << 25), (1 << 30, 1 << 27), (1 << 34, 1 << 28)] as [(Int, Int)] {
      #expect(SessionArchive.bytesMax(memory: memory) == most)
    }
  }

  private func waiting(_ items: [Sent]) -> ResumptionMachine<Sent>.Snapshot {
    ResumptionMachine<Sent>.Snapshot(
      id: "sm", resumptionSeconds: 60, acknowledgedTotal: 8, handledTotal: 2,
      items: items.map { (item: $0, byteCount: $0.byteCount) })
  }

  private func shown(_ items: [Sent]) -> [String] {
    items.map { item in
      switch item {
      case .bytes(let buffer): return String(buffer: buffer)
      case .entry(let entry, _), .result(let entry, _):
        if entry.state?.retraction != nil { return "retracted" }
        return entry.fact.stanza?.content.text ?? "no message"
      }
    }
  }

  /// XEP-0198 5: `h` is that of the former stream; what is sent again counts on from there, and nothing counts that is
  /// not sent.
  @Test func whatIsGoneIsNotCounted() throws {
    let stored = StoredStanzas(acknowledged: 5, count: 3, byteCount: 3)
    var machine = try #require(stored.machine(with: [bytes("a"), .gone, bytes("c")], before: waiting([bytes("d")])))
    #expect(machine.outbound.sent == 9)
    let decision = machine.resume(handled: 6)
    #expect(decision == .resumed(handled: 2, replay: 3))
    machine.forget { $0.isGone }
    #expect(shown(machine.outbound.items.map(\.item)) == ["c", "d"])
    #expect(machine.outbound.sent == 8)
    #expect(machine.outbound.byteCount == 2)
    let acknowledged = machine.acknowledged(8)
    #expect(acknowledged == .released(2))
  }

  @Test func noMachineHasMoreThanMayWait() {
    let stored = StoredStanzas(acknowledged: 5, count: 2, byteCount: 0)
    let half = Sent.bytes(ByteBuffer(repeating: 1, count: XMPPLimits.unacknowledgedBytesKept / 2))
    let counts = [[], [bytes("d")]].map { stored.machine(with: [half, half], before: waiting($0))?.outbound.count }
    #expect(counts == [2, nil])
  }

  // MARK: Sessions

  /// A server with one event loop, and what has been said to Juliet.
  private struct Scene {
    let network: ServerNetwork
    let place: MountedLoop
    let romeo: Party
    let juliet: Party
    let jid: FullJID
    let said: [Entry]

    init(_ texts: [String]) async throws {
      network = try ServerNetwork()
      place = try await network.place()
      romeo = try await network.stage.user("romeo")
      juliet = try await network.stage.user("juliet")
      jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
      var said: [Entry] = []
      for text in texts {
        let receipt = try await network.stage.say(text, from: romeo, to: juliet)
        said.append(try #require(receipt.entry))
      }
      self.said = said
    }

    var parley: Parley { network.door.parley }

    /// Runs `body` on the loop.
    func onLoop<Value: Sendable>(
      _ body: @escaping @Sendable (DoorContext, LoopContext) throws -> Value
    ) async throws -> Value {
      let (door, loopContext) = (network.door, place.loopContext)
      return try await place.loop.submit { try body(door, loopContext.value) }.get()
    }

    /// Returns what a stop stores of a session that was sent what was said, and a presence.
    func stop() async throws -> SuspendedSession {
      let (jid, juliet, said) = (jid, juliet, said)
      let archived = try await onLoop { door, loopContext -> SuspendedSession? in
        let session = XMPPSession(door: door, loopContext: loopContext, party: juliet, jid: jid)
        session.follow(from: .zero)
        _ = session.enable(resume: true, max: nil)
        for entry in said { session.send(as: .entry(entry, .direct)) { _ in } }
        session.send { $0.raw("<presence/>" as StaticString) }
        let archived = SessionArchive.archive(session)
        session.abandon()
        return archived
      }
      let session = try #require(archived)
      try await parley.work { try $0.setSuspended([session]) }
      return session
    }

    /// Restores the sessions of the store, as a start does. Returns their number.
    func start() async throws -> Int {
      let found = try await parley.read { try $0.suspended(bytesMax: 1 << 20, inAll: 1 << 20) }
      let juliet = juliet
      let count = try await onLoop { door, loopContext in
        found.count { SessionArchive.restore($0, of: juliet, door: door, loopContext: loopContext) }
      }
      try await parley.work { try $0.forgetSuspended() }
      return count
    }

    /// Resumes a stream. Returns what its client is sent again, and where the counts of both sides continue.
    func resume(_ stream: StreamNonce, handled: UInt32) async throws -> Resumed {
      let former = try #require(network.door.suspended.take(stream, of: juliet))
      let (juliet, loopContext) = (juliet, place.loopContext)
      return await withCheckedContinuation { continuation in
        former.reach { session in
          guard let session else { return continuation.resume(returning: .ended) }
          let handle = SessionHandle(party: juliet, loopContext: loopContext.value)
          session.handOver(handled: handled, to: handle) { taken in
            switch taken {
            case .success(let state)?:
              continuation.resume(
                returning: .resumed(
                  state.items, acknowledged: state.management.snapshot.acknowledgedTotal,
                  confirmed: state.confirmation.confirmed))
            case .failure(let refusal)?: continuation.resume(returning: .refused(refusal.decision))
            case nil: continuation.resume(returning: .ended)
            }
          }
        }
      }
    }

    func end() async throws { try await network.end() }
  }

  private enum Resumed: Sendable {
    case resumed([Sent], acknowledged: UInt64, confirmed: Position)
    case refused(ResumeDecision)
    case ended
  }

  @Test func aStopStoresPlacesOfTheLog() async throws {
    let scene = try await Scene(["Wherefore", "art thou?"])
    let archived = try await scene.stop()
    let (dialog, positions) = (scene.said[0].dialog, scene.said.map(\.position))
    #expect(
      StoredStanza.all(in: [archived.stanzas]) == [
        .entry(positions[0], in: dialog, .direct), .entry(positions[1], in: dialog, .direct),
        .bytes(ByteBuffer(string: "<presence/>")),
      ])
    #expect(archived.stanzas.count == 2 * 18 + 5 + "<presence/>".utf8.count)
    // A session that is restored at the last moment waits anew, for the 300 seconds of the options.
    #expect(archived.stanzasExpire == archived.expires + .seconds(300))
    let state = String(decoding: archived.state, as: UTF8.self)
    #expect(!state.contains("Wherefore") && !state.contains("presence/"))
    try await scene.end()
  }

  /// A message that was retracted meanwhile is a tombstone; one that the user has deleted for themselves is not sent, and
  /// the counts of both sides agree without it. What was acknowledged is confirmed, as by any acknowledgement.
  @Test func whatWasDeletedDoesNotComeBack() async throws {
    let scene = try await Scene(["one", "two", "three", "four"])
    let archived = try await scene.stop()
    let (parley, said) = (scene.parley, scene.said)
    try await parley.post(
      .message(
        MessageDraft(
          to: scene.juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: .fromApp,
          key: nil, reference: ReferenceDraft(kind: .retraction(reason: nil), target: .entry(said[1].id)))),
      by: scene.romeo)
    try await parley.post(.perUser(said[2].dialog, .hide(said[2].id)), by: scene.juliet)
    #expect(try await scene.start() == 1)
    guard
      case .resumed(let items, let acknowledged, let confirmed) = try await scene.resume(archived.stream, handled: 1)
    else {
      Issue.record("the session was not resumed")
      return try await scene.end()
    }
    #expect(shown(items) == ["retracted", "four", "<presence/>"])
    #expect(acknowledged == 1)
    #expect(confirmed == said[0].position)
    let left = try await parley.read { try $0.stanzas(of: archived.stream) }
    #expect(left == [])
    try await scene.end()
  }

  /// A start reads no stanzas: those of a session that has waited over two restarts are there nonetheless.
  @Test func stanzasWaitOverSeveralRestarts() async throws {
    let scene = try await Scene(["one"])
    let first = try await scene.stop()
    #expect(try await scene.start() == 1)
    let second = try await scene.onLoop { door, _ -> SuspendedSession? in
      guard let session = door.suspended.all.first?.session else { return nil }
      session.send { $0.raw("<iq/>" as StaticString) }
      let archived = SessionArchive.archive(session)
      session.abandon()
      return archived
    }
    let again = try #require(second)
    #expect(StoredStanza.all(in: [again.stanzas]) == [.bytes(ByteBuffer(string: "<iq/>"))])
    try await scene.parley.work { try $0.setSuspended([again]) }
    #expect(try await scene.start() == 1)
    guard case .resumed(let items, let acknowledged, _) = try await scene.resume(first.stream, handled: 0) else {
      Issue.record("the session was not resumed")
      return try await scene.end()
    }
    #expect(shown(items) == ["one", "<presence/>", "<iq/>"])
    #expect(acknowledged == 0)
    try await scene.end()
  }

  /// A client that is told too little would count differently: it logs in anew.
  @Test func withoutItsStanzasASessionIsNotResumed() async throws {
    let scene = try await Scene(["one"])
    let archived = try await scene.stop()
    #expect(try await scene.start() == 1)
    try await scene.parley.work { try $0.removeSuspended(archived.stream) }
    guard case .refused(let decision) = try await scene.resume(archived.stream, handled: 0) else {
      Issue.record("the session was resumed")
      return try await scene.end()
    }
    #expect(decision == .failed(.itemNotFound, handled: 0))
    try await scene.end()
  }

  /// Stanzas in the state, as the release before stored them.
  @Test func aSessionOfTheReleaseBeforeIsRestored() async throws {
    let scene = try await Scene([])
    let stream = StreamNonce(high: 3, low: 4)
    let state = """
      {"version":2,"jid":"juliet@localhost/balcony","id":"sm","resumptionSeconds":300,"acknowledged":4,"handled":2,\
      "items":["PHByZXNlbmNlLz4="],"cursor":{"position":0,"replay":4,"replayed":0,"early":[]},"toldUpTo":0,\
      "confirmedUpTo":0,"carbons":false,"wantsRoster":false,"wantsBlocks":false,"interests":[],\
      "occupants":["verona@conference.localhost/Juliet"]}
      """
    let suspended = SuspendedSession(
      user: scene.juliet.id, stream: stream, expires: scene.parley.clock.now + .seconds(60), state: Array(state.utf8))
    try await scene.parley.work { try $0.setSuspended([suspended]) }
    #expect(try await scene.start() == 1)
    guard case .resumed(let items, let acknowledged, _) = try await scene.resume(stream, handled: 4) else {
      Issue.record("the session was not resumed")
      return try await scene.end()
    }
    #expect(acknowledged == 4)
    let jid = scene.jid
    #expect(
      shown(items) == [
        "<presence/>", String(buffer: RoomOutbound.shutDown("verona@conference.localhost/Juliet", to: jid)),
      ])
    try await scene.end()
  }

  /// A client that comes back while the server stops: the loop of its new connection may have stored its sessions already, so
  /// that the former session is stored where it is.
  @Test func aStopStoresASessionThatIsToBeHandedOver() async throws {
    let scene = try await Scene([])
    let (juliet, jid) = (scene.juliet, scene.jid)
    let outcome = try await scene.onLoop { door, loopContext -> (isTaken: Bool, kept: Int) in
      let session = XMPPSession(door: door, loopContext: loopContext, party: juliet, jid: jid)
      session.follow(from: .zero)
      _ = session.enable(resume: true, max: nil)
      session.suspend()
      let sizes = loopContext.archivedSizes()
      var isTaken = false
      session.handOver(handled: 0, to: SessionHandle(party: juliet, loopContext: loopContext)) { _ in isTaken = true }
      // The log comes to the handover before the session is stored.
      session.receive(.handedOver)
      let stopped = loopContext.shutDown(ArchiveShare(sizes: sizes, bytesMax: 1 << 20))
      return (isTaken, stopped.kept.count)
    }
    #expect(!outcome.isTaken && outcome.kept == 1)
    try await scene.end()
  }

  /// A session whose client would be sent so much again that presence would not fit ends; the other one is stored.
  @Test func aStopKeepsWhatMayBeSentAgain() async throws {
    let scene = try await Scene([])
    let (juliet, romeo, jid) = (scene.juliet, scene.romeo, scene.jid)
    let large = (1...3).map { number in
      message(number, from: romeo, to: juliet, extras: String(repeating: "x", count: 350_000))
    }
    let outcome = try await scene.onLoop { door, loopContext -> (sizes: [Int], kept: [Int], refused: [Int]) in
      for entries in [large[..<2], large[...]] {
        let session = XMPPSession(door: door, loopContext: loopContext, party: juliet, jid: jid)
        _ = session.enable(resume: true, max: nil)
        for entry in entries { session.send(as: .entry(entry, .direct)) { _ in } }
        session.suspend()
      }
      let sizes = loopContext.archivedSizes().sorted()
      let stopped = loopContext.shutDown(ArchiveShare(sizes: sizes, bytesMax: 1 << 20))
      return (sizes, stopped.kept.map(\.stanzas.count), [stopped.share.tooLarge, stopped.share.withoutRoom])
    }
    #expect(outcome.sizes == [DoorLimits.archivedStateBytes + 2 * DoorLimits.archivedEntryBytes, .max])
    #expect(outcome.kept == [2 * 18])
    #expect(outcome.refused == [1, 0])
    try await scene.end()
  }
}
