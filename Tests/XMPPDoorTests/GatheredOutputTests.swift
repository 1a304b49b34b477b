import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import NIOEmbedded
import ServerMetrics
import Synchronization
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// The answers to one read of a client's input that holds many requests.
@Suite(.timeLimit(.minutes(1))) struct GatheredOutputTests {
  /// The beginning of what was sent at once, and its length.
  private struct Write: Sendable {
    let text: String
    let byteCount: Int
  }

  /// A client that takes large answers at once, or one when the test says so.
  private final class Client: StreamTransport {
    enum Pace { case open, fills, drains }

    let kind = OnlineSession.Transport.tcp
    let heldBytes = 0
    let connection: XMPPConnection
    private let writes: AsyncStream<Write>.Continuation
    var pace = Pace.open
    private(set) var writeCount = 0
    private var depth = 0
    /// The most writes that were under way within each other.
    private(set) var deepest = 0

    init(_ connection: XMPPConnection, _ writes: AsyncStream<Write>.Continuation) {
      self.connection = connection
      self.writes = writes
      connection.opened(over: self)
    }

    func send(_ bytes: ByteBuffer, ends: [Int]) {
      depth += 1
      deepest = max(deepest, depth)
      writeCount += 1
      let text = String(decoding: bytes.readableBytesView.prefix(8_192), as: UTF8.self)
      writes.yield(Write(text: text, byteCount: bytes.readableBytes))
      if pace != .open, bytes.readableBytes > DoorLimits.gatheredBytesMax {
        connection.writabilityChanged(false)
        if pace == .drains { connection.writabilityChanged(true) }
      }
      depth -= 1
    }

    func read() {}
    func close() {}
    func drop() { connection.lost() }
  }

  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"

  /// What logs Juliet in, with the ends of the answers.
  private static let login = [
    (header, "</stream:features>"),
    ("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGp1bGlldAB4</auth>", "<success"),
    (header, "</stream:features>"),
    ("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", "</iq>"),
  ]

  /// Creates Juliet, whose roster has some 110,000 bytes.
  private func rosterOwner(_ stage: Stage) async throws -> Party {
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let owner = user.id
    let group = String(repeating: "x", count: Limits.groupBytesMax)
    let addresses = try (0..<100).map { try bare("c\($0)@elsewhere.example") }
    try await stage.parley.work { writer in
      for address in addresses {
        try writer.put(
          Contact(
            owner: owner, address: address, peer: nil, groups: [group], subscription: Subscription.none.listed,
            version: Position(2)))
      }
    }
    return Party(id: owner, realm: user.realm, address: user.address)
  }

  /// However fast the client reads, one answer is sent before the next one is written, in the order of the requests; so it is
  /// if all of them have waited for a post. Each is charged by its bytes.
  @Test(arguments: [false, true], [false, true])
  func oneLargeAnswerIsWrittenAtATime(isFast: Bool, isBehindPost: Bool) async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let juliet = try await rosterOwner(stage)
    _ = try await stage.user("romeo")
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (stream, continuation) = AsyncStream<Write>.makeStream()
    let client = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .document, isSecured: false, peer: "192.0.2.1")
      return NIOLoopBound(Client(connection, continuation), eventLoop: loop)
    }.get()
    func send(_ text: String) async throws {
      try await loop.submit {
        client.value.connection.received(ByteBuffer(string: text))
        client.value.connection.flush()
      }.get()
    }

    var writes = stream.makeAsyncIterator()
    for (text, end) in Self.login {
      try await send(text)
      var answer = ""
      while !answer.contains(end), let write = await writes.next() { answer += write.text }
    }

    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
    let count = 100
    let message = "<message type='chat' to='romeo@localhost'><body>x</body></message>"
    let gets = (0..<count).map { "<iq type='get' id='q\($0)'><query xmlns='jabber:iq:roster'/></iq>" }.joined()
    try await loop.submit { client.value.pace = isFast ? .drains : .fills }.get()
    let before = try await loop.submit { client.value.writeCount }.get()
    try await send((isBehindPost ? message : "") + gets)
    for number in 0..<count {
      let next = await writes.next()
      let write = try #require(next)
      #expect(write.text.contains(" id='q\(number)'"))
      #expect(write.byteCount > DoorLimits.gatheredBytesMax && write.byteCount < 2 * DoorLimits.gatheredBytesMax)
      if isFast { continue }
      try await loop.submit {
        #expect(client.value.writeCount == before + number + 1)
        #expect(client.value.connection.gatheredBytes == 0)
        client.value.connection.writabilityChanged(true)
      }.get()
    }
    var left = 0
    while budget.charge(stanzas: 1, bytes: 0, now: stage.clock.now) == nil { left += 1 }
    #expect(left <= 5 * Limits.sendingStanzasPerSecond - 2 * count)
    try await loop.submit {
      #expect(client.value.deepest == 1)
      client.value.connection.lost()
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// A presence for which thousands of contacts are looked for counts as many elements: two end the turn of the loop.
  @Test func presencesToManyContactsAreHandledInPieces() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let owner = user.id
    let count = DoorLimits.elementsAtOnce / 2 * DoorLimits.contactsPerElement
    let addresses = try (0..<count).map { try bare("c\($0)@localhost") }
    try await stage.parley.work { writer in
      for address in addresses {
        try writer.put(Contact(owner: owner, address: address, peer: nil, subscription: .from, version: Position(2)))
      }
    }
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (stream, continuation) = AsyncStream<Write>.makeStream()
    let client = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .document, isSecured: false, peer: "192.0.2.1")
      return NIOLoopBound(Client(connection, continuation), eventLoop: loop)
    }.get()
    var writes = stream.makeAsyncIterator()
    // The answer comes behind all that the first presence has posted.
    let read = "<iq type='get' id='r'><pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='n'/></pubsub></iq>"
    for (text, end) in Self.login + [("<presence/>" + read, "id='r'")] {
      try await loop.submit {
        client.value.connection.received(ByteBuffer(string: text))
        client.value.connection.flush()
      }.get()
      var answer = ""
      while !answer.contains(end), let write = await writes.next() { answer += write.text }
    }
    let presences = (1...5).map { "<presence><priority>\($0)</priority></presence>" }.joined()
    let hub = stage.parley.hub
    // The lookups of the first presence may not be over.
    while try await !loop.submit({ client.value.connection.mayRead() }).get() {}
    let reached = try await loop.submit {
      client.value.connection.received(ByteBuffer(string: presences))
      return hub.presence(of: owner)?.priority
    }.get()
    #expect(reached == 2)
    while hub.presence(of: owner)?.priority != 5 { await Task.yield() }
    try await loop.submit { client.value.connection.lost() }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// What comes when the loop has worked for as long as it may waits for a turn.
  @Test func inputWaitsForATurnOfTheLoop() throws {
    final class Time: Sendable { let now = Mutex(ContinuousClock.now) }
    let network = try ServerNetwork()
    let (loop, time) = (EmbeddedEventLoop(), Time())
    let loopContext = LoopContext(loop: loop, Metrics(), now: { time.now.withLock { $0 } })
    let turns = loopContext.lane.turns
    let connection = XMPPConnection(
      door: network.door, loopContext: loopContext, framing: .document, isSecured: true, peer: "192.0.2.1",
      memory: MemoryBound().enter("192.0.2.1") {}, onLoginEnded: { _ in true })
    let client = Client(connection, AsyncStream<Write>.makeStream().continuation)
    func work() -> [Bool] {
      [Duration.zero, Limits.laneTurnTime].map { passed in
        time.now.withLock { $0 += passed }
        return turns.worked(Limits.laneTurnStep)
      }
    }
    #expect(work() == [false, true])
    connection.received(ByteBuffer(string: Self.header))
    connection.flush()
    #expect(client.writeCount == 0 && !connection.mayRead())
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(client.writeCount == 1 && connection.mayRead())
    // So does the last input of a client that closes its connection at once.
    #expect(work() == [false, true])
    connection.received(ByteBuffer(string: "</stream:stream>"))
    connection.lost()
    #expect(client.writeCount == 1 && !connection.isOver)
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(client.writeCount == 2 && connection.isOver)
    network.group.shutdownGracefully { _ in }
  }

  /// The payloads of one BOSH request are processed one after the other, too.
  @Test func aRequestOfManyPayloadsIsAnsweredInPieces() async throws {
    let network = try ServerNetwork()
    _ = try await rosterOwner(network.stage)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    @Sendable func body(_ rid: Int, _ attributes: String, _ payload: String = "") throws -> BOSHRequest {
      let start = "<body xmlns='http://jabber.org/protocol/httpbind' rid='\(rid)' \(attributes)"
      return try BOSHRequest(Element(parsing: "\(start)>\(payload)</body>".utf8, defaultNamespace: ""))
    }
    let first = try body(1_000, "to='localhost' wait='60' hold='1'")
    let transport = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .bodies, isSecured: true, peer: "192.0.2.1")
      return NIOLoopBound(BOSHTransport(first, sid: "s", connection: connection) {}, eventLoop: loop)
    }.get()
    /// Sends a request, and returns its response when that is due.
    func ask(_ request: BOSHRequest) async -> String {
      await withCheckedContinuation { continuation in
        loop.execute {
          transport.value.received(request, as: Int(request.rid), byteCount: 0) {
            continuation.resume(returning: String(buffer: $0))
          }
        }
      }
    }
    let auth = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGp1bGlldAB4</auth>"
    let bind = "<iq xmlns='jabber:client' type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    let restart = "sid='s' to='localhost' xmlns:xmpp='urn:xmpp:xbosh' xmpp:restart='true'"
    for (request, part) in [
      (first, "mechanisms"), (try body(1_001, "sid='s'", auth), "success"),
      (try body(1_002, restart), "xmpp-bind"), (try body(1_003, "sid='s'", bind), "juliet@localhost/"),
    ] {
      let response = await ask(request)
      try #require(response.contains(part), "\(response)")
    }

    let count = 6
    let gets = (0..<count).map {
      "<iq xmlns='jabber:client' type='get' id='q\($0)'><query xmlns='jabber:iq:roster'/></iq>"
    }
    var response = await ask(try body(1_004, "sid='s'", gets.joined()))
    #expect(response.contains(" id='q0'") && !response.contains(" id='q1'"))
    var (number, rid) = (0, 1_004)
    while number < count {
      // The next answers in the order of the requests, as many as a response has room for.
      try #require(response.contains(" id='q\(number)'"), "the answer \(number) is missing")
      while response.contains(" id='q\(number)'") { number += 1 }
      rid += 1
      if number < count { response = await ask(try body(rid, "sid='s'")) }
    }
    try await loop.submit { transport.value.stop() }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// A client that reads nothing is closed at the bound of unread output, and not under whoever writes.
  @Test func aConnectionMayEndDuringThePause() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (_, continuation) = AsyncStream<Write>.makeStream()
    let client = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
      return NIOLoopBound(Client(connection, continuation), eventLoop: loop)
    }.get()
    try await loop.submit {
      let reader = client.value
      let connection = reader.connection
      reader.pace = .fills
      connection.write { $0.raw(ByteBuffer(repeating: 0x20, count: DoorLimits.gatheredBytesMax + 1)) }
      let takesMore = connection.takesMore()
      #expect(!takesMore && reader.writeCount == 1 && !connection.isWritable)
      // What nobody has asked for still gathers, up to the bound at which the connection is closed.
      for _ in 0...(DoorLimits.unreadBytesMax >> 20) + 2 {
        connection.write { $0.raw(ByteBuffer(repeating: 0x20, count: 1 << 20)) }
      }
      #expect(connection.gatheredBytes <= DoorLimits.unreadBytesMax + (1 << 20) && !connection.isOver)
    }.get()
    // The connection is closed in a turn of its own.
    try await loop.submit {
      #expect(client.value.connection.isOver && client.value.writeCount == 1)
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }
}
