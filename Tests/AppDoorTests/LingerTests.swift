import Addresses
import Basics
import Foundation
import Logging
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOWebSocket
import SQLiteStore
import Synchronization
import Testing

@testable import Accounts
@testable import AppDoor
@testable import Dialogs

/// A user whose connection is lost is shown as online for `AppLimits.lingerTime`. The test moves the time by hand.
@Suite struct LingerTests {
  private final class HandClock: Clock {
    private let time = Mutex(Timestamp(milliseconds: 1_700_000_000_000))
    var now: Timestamp { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 = $0 + duration } }
  }

  /// Whether the socket was read, at each change.
  private final class Reading: Sendable {
    let changes = Mutex<[Bool]>([])
  }

  /// The time by which the turns of the event loop are measured.
  private final class TurnTime: Sendable {
    let now = Mutex(ContinuousClock.now)
  }

  /// A client that takes all and says nothing.
  private final class Line: SessionChannel {
    let eventLoop: any EventLoop
    let reading: Reading
    let transport = OnlineSession.Transport.webSocket
    var isWritable = true
    var unreadBytes: Int { isWritable ? 0 : 1 }
    init(_ loop: any EventLoop, _ reading: Reading) { (eventLoop, self.reading) = (loop, reading) }
    func write(count: Int, cursor: String?, _ body: (inout ByteBuffer) -> Void) {}
    func flush() {}
    func setReading(_ isReading: Bool) { reading.changes.withLock { $0.append(isReading) } }
    func close(_ code: CloseCode, reason: String, _ problem: Problem?) {}
    func finish() {}
    func cut() {}
  }

  /// A contact, who hears who comes and goes.
  private final class Watcher: LiveSession {
    let id = SessionID(.max)
    let party: Party
    let lane = Lane { $0() }
    private let heard = Mutex<[Presence]>([])
    init(_ party: Party) { self.party = party }
    func receive(_ delivery: Delivery) {
      guard case .signal(.presence(let presence), _) = delivery, presence.from.id != party.id else { return }
      heard.withLock { $0.append(presence) }
    }
    func batchEnded() {}
    func taken() -> [Presence] {
      heard.withLock { heard in
        defer { heard = [] }
        return heard
      }
    }
  }

  private final class Scene: Sendable {
    let folder: URL
    let store: SQLiteStore
    let accounts: Accounts
    var parley: Parley { accounts.parley }
    let door: AppDoor
    let loop = NIOAsyncTestingEventLoop()
    let clock = HandClock()
    let reading = Reading()
    let turnTime = TurnTime()
    let juliet: Party
    let watcher: Watcher

    init(judging: JudgingClocks = .system) async throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("parley-linger-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      store = try SQLiteStore(path: folder.path + "/parley.db")
      let logger = Logger(label: "linger") { _ in SwiftLogNoOpLogHandler() }
      var options = Parley.Options(domains: ["localhost"])
      options.judgingClocks = judging
      let parley = try Parley(store: store, clock: clock, options: options, logger: logger)
      accounts = Accounts(parley)
      let lane = Lane(
        schedule: { [loop] body in loop.execute(body) }, pause: { [loop] body in loop.execute(body) },
        turnPause: { [loop] _, body in loop.scheduleTask(in: .milliseconds(1)) { body() } },
        now: { [turnTime] in turnTime.now.withLock { $0 } })
      let sessions = Mutex<UInt64>(0)
      door = AppDoor(
        accounts: accounts, settings: AppDoor.Settings(version: "0", registration: false, publicURL: nil), loops: loop,
        lane: { _ in lane },
        nextSessionID: {
          SessionID(
            sessions.withLock {
              $0 += 1
              return $0
            })
        }, logger: logger)
      juliet = try await Self.user("juliet", parley)
      let romeo = try await Self.user("romeo", parley)
      try await parley.post(.link(romeo.address, name: nil, groups: [], mutual: true), by: juliet)
      watcher = Watcher(romeo)
      try await parley.post(.goOnline(OnlineSession(session: watcher, door: .xmpp, resource: "orchard")), by: romeo)
      parley.hub.setPresence(
        Presence(from: romeo, resource: "orchard", availability: .online, time: clock.now), of: watcher)
    }

    deinit {
      try? store.close()
      try? FileManager.default.removeItem(at: folder)
    }

    private static func user(_ name: String, _ parley: Parley) async throws -> Party {
      let (address, realm, now) = (try BareJID("\(name)@localhost"), parley.realms[0].id, parley.clock.now)
      let user = try await parley.work {
        try $0.insertUser(address, in: realm, profile: Profile(displayName: name), createdAt: now)
      }
      return Party(id: user.id, realm: user.realm, address: user.address)
    }

    /// Juliet logs in on her phone. What she had there before ends.
    func logIn() async throws -> Accounts.Caller {
      let id = juliet.id
      let found = try await parley.read { try $0.user(id) }
      let login = try await accounts.logIn(try #require(found), device: "phone", client: nil)
      return try await accounts.caller(accessToken: login.accessToken)
    }

    /// Returns the token of another login on her phone.
    func logInAgain() async throws -> String {
      let id = juliet.id
      let found = try await parley.read { try $0.user(id) }
      return try await accounts.logIn(try #require(found), device: "phone", client: nil).accessToken
    }

    /// Her phone connects, and has announced itself.
    func connect(_ caller: Accounts.Caller) async throws -> NIOLoopBound<AppSession> {
      let session = try await loop.executeInContext { [door, loop, reading] in
        let session = AppSession(door: door, channel: Line(loop, reading), address: "192.0.2.1")
        session.begin(caller, cursor: nil)
        return NIOLoopBound(session, eventLoop: loop)
      }
      try await until { [parley, juliet] in
        parley.hub.onlineSessions(of: juliet.id).contains { $0.isAvailable && !$0.isReturning }
      }
      // The hub shows it before it tells.
      await loop.run()
      return session
    }

    func drop(_ session: NIOLoopBound<AppSession>, forGood: Bool = false) async throws {
      try await loop.executeInContext {
        session.value.isForGood = forGood
        session.value.end()
      }
      // Behind what the end of the session has posted, which has the time of its commit.
      try await parley.post(.confirm(.zero), by: juliet)
    }

    func pass(_ seconds: Int64) async {
      clock.pass(.seconds(seconds))
      await loop.advanceTime(by: .seconds(seconds))
    }

    /// Other threads do it in their own time.
    func until(_ holds: @Sendable () -> Bool) async throws {
      let end = ContinuousClock.now + .seconds(30)
      while !holds() {
        try #require(ContinuousClock.now < end)
        await Task.yield()
      }
    }

    func lastSeen() async throws -> Timestamp? {
      try await parley.read { [juliet] in try $0.user(juliet.id) }?.lastSeenAt
    }
  }

  @Test func backInAMomentNobodyIsTold() async throws {
    let scene = try await Scene()
    let caller = try await scene.logIn()
    let first = try await scene.connect(caller)
    #expect(scene.watcher.taken().map(\.availability) == [.online])
    let gone = scene.clock.now
    try await scene.drop(first)
    #expect(try await scene.lastSeen() == gone)
    await scene.pass(4)
    let second = try await scene.connect(caller)
    await scene.pass(60)
    #expect(scene.watcher.taken().isEmpty && scene.parley.hub.isOnline(scene.juliet.id))
    // Twice, and for longer than the moment: it is counted from when they went.
    let later = scene.clock.now
    try await scene.drop(second)
    await scene.pass(4)
    #expect(scene.watcher.taken().isEmpty)
    await scene.pass(1)
    let told = scene.watcher.taken()
    #expect(told.map(\.availability) == [.offline] && told.first?.time == later)
    #expect(try await scene.lastSeen() == later)
  }

  /// Each session is shown in all rooms of its user: who connects again and again waits.
  @Test func theNextOfManySessionsWaits() async throws {
    let scene = try await Scene()
    let caller = try await scene.logIn()
    let (now, id) = (scene.clock.now, scene.juliet.id)
    let budget = scene.parley.sending.budget(of: scene.juliet, from: "192.0.2.1", now: now)
    for _ in 0..<Limits.sessionStartRate.burst { #expect(budget.startSession(now: now) == nil) }
    try await scene.loop.executeInContext { [door = scene.door, loop = scene.loop, reading = scene.reading] in
      AppSession(door: door, channel: Line(loop, reading), address: "192.0.2.1").begin(caller, cursor: nil)
    }
    // What the session had posted would be committed before this.
    try await scene.parley.post(.confirm(.zero), by: scene.juliet)
    #expect(scene.parley.hub.onlineSessions(of: id).isEmpty)
    await scene.pass(1)
    try await scene.until { [parley = scene.parley] in !parley.hub.onlineSessions(of: id).isEmpty }
    await scene.loop.run()
  }

  /// A socket that has sent more bytes than a user may is not read until the debt is paid off.
  @Test func aSocketThatSendsTooManyBytesIsNotReadForAWhile() async throws {
    let scene = try await Scene()
    let session = try await scene.connect(try await scene.logIn())
    let burst = Limits.sendingBytesPerSecond * Limits.sendingBytesBurstSeconds
    let filling = String(repeating: "x", count: 65_000)
    let text = Array(#"{"id":"1","type":"ping","data":{"x":"\#(filling)"}}"#.utf8)
    func send(_ count: Int) async throws {
      try await scene.loop.executeInContext {
        for _ in 0..<count { text.withUnsafeBytes { session.value.take($0) } }
      }
    }
    try await send(burst / text.count)
    #expect(scene.reading.changes.withLock { $0 } == [])
    try await send(1)
    #expect(scene.reading.changes.withLock { $0 } == [false])
    await scene.pass(1)
    #expect(scene.reading.changes.withLock { $0 } == [false, true])
  }

  /// Commands that come when the event loop has worked for as long as it may wait for a turn, and keep their order.
  @Test func commandsWaitForATurnOfTheLoop() async throws {
    let scene = try await Scene()
    let session = try await scene.connect(try await scene.logIn())
    _ = scene.watcher.taken()
    let commands = ["away", "chat"].map {
      Array(#"{"id":"1","type":"presence","data":{"availability":"\#($0)"}}"#.utf8)
    }
    try await scene.loop.executeInContext { [door = scene.door, loop = scene.loop, turnTime = scene.turnTime] in
      let turns = door.lane(loop).turns
      _ = turns.worked(Limits.laneTurnStep)
      turnTime.now.withLock { $0 += Limits.laneTurnTime }
      _ = turns.worked(Limits.laneTurnStep)
      for command in commands { command.withUnsafeBytes { session.value.take($0) } }
    }
    #expect(scene.reading.changes.withLock { $0 } == [false] && scene.watcher.taken().isEmpty)
    await scene.pass(1)
    await scene.loop.run()
    #expect(scene.watcher.taken().map(\.availability) == [.away, .chat])
    #expect(scene.reading.changes.withLock { $0 } == [false, true])
  }

  /// Nobody sends more by closing the connection and opening another one.
  @Test func aNewSocketOfAUserInDebtIsNotReadEither() async throws {
    let scene = try await Scene()
    let caller = try await scene.logIn()
    let first = try await scene.connect(caller)
    let bytes = Limits.sendingBytesPerSecond * (Limits.sendingBytesBurstSeconds + 1)
    try await scene.loop.executeInContext { first.value.charge(stanzas: 0, bytes: bytes) }
    #expect(scene.reading.changes.withLock { $0 } == [false])
    try await scene.drop(first)
    _ = try await scene.connect(caller)
    #expect(scene.reading.changes.withLock { $0 } == [false, false])
    await scene.pass(2)
    #expect(scene.reading.changes.withLock { $0 } == [false, false, true])
  }

  /// What a session has missed is read at the cost of its user, so that nobody reads more by connecting again and again.
  @Test(arguments: [Duration.zero, .seconds(1)]) func longReadsOfWhatWasMissedAreCharged(taken: Duration) async throws {
    let thread = Mutex(Duration.zero)
    let clocks = JudgingClocks(
      wall: { .zero },
      thread: {
        thread.withLock { time in
          time += taken
          return time
        }
      })
    let scene = try await Scene(judging: clocks)
    let caller = try await scene.logIn()
    let now = scene.clock.now
    let budget = scene.parley.sending.budget(of: scene.juliet, from: "192.0.2.1", now: now)
    // What may come at once, and what may be missed.
    budget.owe(stanzas: Limits.sendingStanzasPerSecond * Limits.sendingStanzasBurstSeconds, now: now)
    budget.oweMissed(stanzas: Limits.missedReadRate.burst, now: now)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
    _ = try await scene.connect(caller)
    #expect((budget.charge(stanzas: 0, bytes: 0, now: now) != nil) == (taken > .zero))
  }

  /// NIO reads what is left at the end of a connection, whether or not it is to be read.
  @Test func whatIsLeftOfASocketIsNotReadByTheWay() async throws {
    let scene = try await Scene()
    let token = try await scene.logInAgain()
    let channel = NIOAsyncTestingChannel(loop: scene.loop)
    try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
    let door = scene.door
    try await scene.loop.executeInContext {
      try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
      try channel.pipeline.syncOperations.addHandler(SocketChannel(channel, door: door, address: "192.0.2.1"))
    }
    func send(_ text: String, _ opcode: WebSocketOpcode = .text) async throws {
      try await channel.writeInbound(WebSocketFrame(fin: true, opcode: opcode, data: ByteBuffer(string: text)))
    }
    func answers() async throws -> String {
      var all = ""
      while let bytes = try await channel.readOutbound(as: ByteBuffer.self) { all += String(buffer: bytes) }
      return all
    }
    try await send(#"{"id":"1","type":"hello","data":{"token":"\#(token)"}}"#)
    let id = scene.juliet.id
    try await scene.until { [parley = scene.parley] in
      parley.hub.onlineSessions(of: id).contains(where: \.isAvailable)
    }
    await scene.loop.run()
    let filling = String(repeating: "x", count: 65_000)
    let ping = #"{"id":"fill","type":"ping","data":{"x":"\#(filling)"}}"#
    let count = Limits.sendingBytesPerSecond * Limits.sendingBytesBurstSeconds / ping.utf8.count + 1
    for _ in 0..<count { try await send(ping) }
    #expect(try await answers().components(separatedBy: #""re":"fill""#).count == count + 1)
    for _ in 0..<2 { try await send(#"{"id":"late","type":"ping"}"#) }
    #expect(try await answers().contains("late") == false)
    await scene.pass(1)
    try await send(#"{"id":"later","type":"ping"}"#)
    #expect(try await answers().contains(#""re":"later""#))
    try await send("", .connectionClose)
    await scene.loop.run()
  }

  /// The client of a network that has as many connections as it may have is refused when it says hello.
  @Test func aSocketBeyondThoseOfItsNetworkIsRefused() async throws {
    let scene = try await Scene()
    let token = try await scene.logInAgain()
    let channel = NIOAsyncTestingChannel(loop: scene.loop)
    try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
    let door = scene.door
    try await scene.loop.executeInContext {
      try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
      try channel.pipeline.syncOperations.addHandler(
        SocketChannel(channel, door: door, address: "192.0.2.1") { _ in false })
    }
    let hello = #"{"id":"1","type":"hello","data":{"token":"\#(token)"}}"#
    try await channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: hello)))
    var answers = ""
    let end = ContinuousClock.now + .seconds(30)
    // The reply, and the reason of the close frame.
    while answers.components(separatedBy: "connections-too-many").count < 3 {
      try #require(ContinuousClock.now < end, "\(answers)")
      await scene.loop.run()
      while let bytes = try await channel.readOutbound(as: ByteBuffer.self) { answers += String(buffer: bytes) }
      await Task.yield()
    }
    #expect(answers.contains(#""re":"1""#))
    #expect(scene.parley.hub.onlineSessions(of: scene.juliet.id).isEmpty)
    await scene.pass(5)
  }

  /// The end of a connection without a close frame: of its input (the client's process was killed, or it closed TLS), an
  /// end of TLS without `close_notify`, a reset.
  enum Loss: CaseIterable { case input, tls, reset }
  private struct Unclean: Error {}

  @Test(arguments: Loss.allCases) func aLostSocketLingersFromThatMoment(loss: Loss) async throws {
    let scene = try await Scene()
    _ = try await scene.logIn()
    let id = scene.juliet.id
    let token = try await scene.logInAgain()
    let channel = NIOAsyncTestingChannel(loop: scene.loop)
    try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
    let door = scene.door
    try await scene.loop.executeInContext {
      try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
      try channel.pipeline.syncOperations.addHandler(SocketChannel(channel, door: door, address: "192.0.2.1"))
    }
    let hello = ByteBuffer(string: #"{"id":"1","type":"hello","data":{"token":"\#(token)"}}"#)
    try await channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: hello))
    try await scene.until { [parley = scene.parley] in parley.hub.onlineSessions(of: id).contains(where: \.isAvailable)
    }
    try await scene.loop.executeInContext {
      switch loss {
      case .input: channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      case .tls: channel.pipeline.fireErrorCaught(Unclean())
      case .reset: channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
      }
    }
    await scene.loop.run()
    #expect(scene.parley.hub.onlineSessions(of: id).isEmpty && !channel.isActive)
    #expect(scene.watcher.taken().map(\.availability) == [.online])
    await scene.pass(5)
    #expect(scene.watcher.taken().map(\.availability) == [.offline])
  }

  @Test func aSessionThatIsDoneOrClosedGoesAtOnce() async throws {
    let scene = try await Scene()
    let caller = try await scene.logIn()
    let first = try await scene.connect(caller)
    try await scene.drop(first, forGood: true)
    #expect(scene.watcher.taken().map(\.availability) == [.online, .offline])
    // Put out while it lingers.
    let second = try await scene.connect(caller)
    try await scene.drop(second)
    #expect(scene.watcher.taken().map(\.availability) == [.online])
    scene.parley.hub.close(scene.juliet.id, .revoked)
    await scene.loop.run()
    #expect(scene.watcher.taken().map(\.availability) == [.offline])
    await scene.pass(60)
    #expect(scene.watcher.taken().isEmpty)
    // Put out while it is there.
    _ = try await scene.connect(caller)
    scene.parley.hub.close(scene.juliet.id, .revoked)
    await scene.loop.run()
    #expect(scene.watcher.taken().map(\.availability) == [.online, .offline])
  }

  /// What a stranger sends behind `hello` would wait in memory: it is read once the client is known, or refused.
  @Test func aClientIsReadNoFurtherUntilItIsKnown() async throws {
    let scene = try await Scene()
    let hello = Array(#"{"id":"1","type":"hello","data":{"token":"nobody"}}"#.utf8)
    try await scene.loop.executeInContext { [door = scene.door, loop = scene.loop, reading = scene.reading] in
      let session = AppSession(door: door, channel: Line(loop, reading), address: "192.0.2.1")
      hello.withUnsafeBytes { session.take($0) }
    }
    #expect(scene.reading.changes.withLock { $0 }.first == false)
    let end = ContinuousClock.now + .seconds(30)
    while scene.reading.changes.withLock({ $0 }) != [false, true] {
      try #require(ContinuousClock.now < end)
      // The token is looked up on another thread.
      await scene.loop.run()
      await Task.yield()
    }
  }

  /// Commands that wait for a read of the store are in memory, parsed: behind a few large ones nothing more is read.
  @Test func largeCommandsThatWaitStopTheReading() async throws {
    let scene = try await Scene()
    let session = try await scene.connect(try await scene.logIn())
    let text = String(repeating: "x", count: AppLimits.backlogBytesMax / 2)
    let large = Array(#"{"id":"1","type":"no.such","data":{"text":"\#(text)"}}"#.utf8)
    try await scene.loop.executeInContext { [reading = scene.reading] in
      let before = reading.changes.withLock { $0 }.count
      func changes() -> [Bool] { Array(reading.changes.withLock { $0 }.dropFirst(before)) }
      let open = try #require(session.value.open)
      open.isResolving = true
      large.withUnsafeBytes { session.value.take($0) }
      #expect(changes() == [])
      large.withUnsafeBytes { session.value.take($0) }
      #expect(changes() == [false])
      open.isResolving = false
      session.value.drainBacklog()
      #expect(changes() == [false, true])
    }
  }

  /// Nobody is charged for what comes before `hello`, so there is little of it.
  @Test func aStrangerHasFewFrames() async throws {
    let scene = try await Scene()
    let unknown = Array(#"{"id":"1","type":"no.such"}"#.utf8)
    try await scene.loop.executeInContext { [door = scene.door, loop = scene.loop, reading = scene.reading] in
      let session = AppSession(door: door, channel: Line(loop, reading), address: "192.0.2.1")
      func isClosed() -> Bool { if case .closed = session.state { true } else { false } }
      for _ in 1..<AppLimits.framesBeforeHelloMax { unknown.withUnsafeBytes { session.take($0) } }
      session.takeControl(0)
      #expect(!isClosed())
      unknown.withUnsafeBytes { session.take($0) }
      #expect(isClosed())
    }
  }

  /// Commands that no other rate counts, those that fail and control frames count as stanzas.
  @Test func whatIsNoMessageIsCharged() async throws {
    let scene = try await Scene()
    let session = try await scene.connect(try await scene.logIn())
    let commands = ["no.such", "ping", "typing", "hello"].map { Array(#"{"id":"1","type":"\#($0)"}"#.utf8) }
    try await scene.loop.executeInContext {
      for command in commands { command.withUnsafeBytes { session.value.take($0) } }
      session.value.takeControl(0)
    }
    let budget = scene.parley.sending.budget(of: scene.juliet, from: nil, now: scene.clock.now)
    let burst = Limits.sendingStanzasPerSecond * Limits.sendingStanzasBurstSeconds
    #expect(budget.charge(stanzas: burst - commands.count - 1, bytes: 0, now: scene.clock.now) == nil)
    #expect(budget.charge(stanzas: 1, bytes: 0, now: scene.clock.now) != nil)
  }

  /// A presence is shown to all contacts: none is while deliveries are owed, though many may come in one read.
  @Test func noPresenceIsShownWhileDeliveriesAreOwed() async throws {
    let scene = try await Scene()
    let session = try await scene.connect(try await scene.logIn())
    _ = scene.watcher.taken()
    let now = scene.clock.now
    func show(_ availability: String) async throws -> [Presence.Availability] {
      let text = Array(#"{"id":"1","type":"presence","data":{"availability":"\#(availability)"}}"#.utf8)
      try await scene.loop.executeInContext { text.withUnsafeBytes { session.value.take($0) } }
      await scene.loop.run()
      return scene.watcher.taken().map(\.availability)
    }
    #expect(try await show("away") == [.away])
    // Those of four seconds at once, and of one more.
    let perSecond = Limits.sendingStanzasPerSecond * Limits.sendingDeliveriesPerStanza
    scene.parley.sending.budget(of: scene.juliet, from: "192.0.2.1", now: now)
      .owe(deliveries: perSecond * (Limits.sendingDeliveriesBurstSeconds + 1), now: now)
    #expect(try await show("doNotDisturb") == [])
    await scene.pass(2)
    #expect(try await show("chat") == [.chat])
  }

  /// The last writes of a session may fill its channel when the session has ended already: nothing would release what it counts.
  @Test func aClosedSessionHoldsNothing() async throws {
    let scene = try await Scene()
    let unread = scene.parley.options.memory.unread
    try await scene.loop.executeInContext { [door = scene.door, loop = scene.loop, reading = scene.reading] in
      let line = Line(loop, reading)
      let session = AppSession(door: door, channel: line, address: "192.0.2.1")
      line.isWritable = false
      session.writabilityChanged()
      #expect(unread.bytes == MemoryBound.shareBytes)
      session.close(.badFrame, reason: "")
      #expect(unread.bytes == 0)
      session.writabilityChanged()
      #expect(unread.bytes == 0)
    }
  }

  /// Counts the times that an open connection is closed through TLS, and not beneath it.
  private final class Closes: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var count = 0
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      if context.channel.isActive { count += 1 }
      context.close(mode: mode, promise: promise)
    }
  }

  /// TLS would keep what the client of a socket does not read, for some seconds, while it waits for the client.
  @Test func aSocketIsCutBeneathTLS() async throws {
    let scene = try await Scene()
    let channel = NIOAsyncTestingChannel(loop: scene.loop)
    try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
    let count = try await scene.loop.executeInContext { [door = scene.door] in
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.certificateVerification = .none
      let tls = try NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: nil)
      let (closes, pipeline) = (Closes(), channel.pipeline.syncOperations)
      try pipeline.addHandler(tls)
      try pipeline.addHandler(closes)
      try pipeline.addHandler(WebSocketFrameEncoder())
      let socket = try SocketChannel(channel, door: door, address: "192.0.2.1")
      try pipeline.addHandler(socket)
      socket.cut()
      return closes.count
    }
    #expect(count == 0 && !channel.isActive)
    await scene.loop.run()
  }

  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var count = 0
    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  /// The handlers in front of a socket count the time in which it is not read.
  @Test func theEndOfAPauseIsSeenInFrontOfASocket() async throws {
    let scene = try await Scene()
    let channel = NIOAsyncTestingChannel(loop: scene.loop)
    try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
    let count = try await scene.loop.executeInContext { [door = scene.door] in
      let (reads, pipeline) = (Reads(), channel.pipeline.syncOperations)
      try pipeline.addHandler(reads)
      try pipeline.addHandler(WebSocketFrameEncoder())
      let socket = try SocketChannel(channel, door: door, address: "192.0.2.1")
      try pipeline.addHandler(socket)
      let before = reads.count
      socket.setReading(false)
      socket.setReading(true)
      let count = reads.count - before
      socket.cut()
      return count
    }
    #expect(count == 1)
    await scene.loop.run()
  }

  /// The connection of a stream of events is closed with what waits for a client that reads nothing.
  @Test func aStreamThatNobodyReadsIsCut() async throws {
    let scene = try await Scene()
    let caller = try await scene.logIn()
    let body = try await StreamChannel.open(caller, cursor: nil, address: "192.0.2.1", door: scene.door)
    let cuts = Atomic(0)
    body.whenCut { cuts.add(1, ordering: .relaxed) }
    let text = String(repeating: "x", count: 8_000)
    for _ in 0..<AppLimits.streamBytesMax / text.count + 2 {
      let draft = MessageDraft(
        to: scene.juliet.address, content: Content(kind: .text, text: text), envelope: Envelope(type: .chat),
        traits: [.counts, .archived, .fromApp], key: nil)
      try await scene.parley.post(.message(draft), by: scene.watcher.party)
    }
    let unread = scene.parley.options.memory.unread
    try await scene.until { unread.bytes > 0 }
    #expect(cuts.load(ordering: .relaxed) == 0)
    await scene.pass(60)
    #expect(cuts.load(ordering: .relaxed) == 1 && unread.bytes == 0)
  }
}
