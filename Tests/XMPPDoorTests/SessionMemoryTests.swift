import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import HTTPPort
import NIOCore
import NIOEmbedded
import NIOSSL
import ServerMetrics
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// The memory that all sessions share, with small bounds.
@Suite(.timeLimit(.minutes(1))) struct SessionMemoryTests {
  private static let share = MemoryBound.shareBytes

  /// A client that takes nothing unless the test says so.
  private final class Client: StreamTransport {
    let kind = OnlineSession.Transport.tcp
    let connection: XMPPConnection
    var heldBytes = 0
    private(set) var isDropped = false

    init(_ connection: XMPPConnection) {
      self.connection = connection
      connection.opened(over: self)
    }
    func send(_ bytes: ByteBuffer, ends: [Int]) {}
    func read() {}
    func close() {}
    func drop() { isDropped = true }

    func stopsReading(_ bytes: Int) {
      heldBytes = bytes
      connection.writabilityChanged(false)
    }
  }

  /// Of three clients, one reads slowly and two read nothing. At the bound the one that has read nothing for the longest is
  /// disconnected, although the slow one has been slow for longer.
  @Test func whoHasReadNothingForTheLongestIsDisconnected() async throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound(bytesMax: 16 * Self.share, isByNetwork: false)
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let user = try bare("juliet@localhost")
    let clients = try await loop.submit {
      let clients = try (1...3).map { _ in
        let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
        let client = Client(connection)
        connection.perform(.authenticated(user, nil))
        connection.flush()
        return client
      }
      return NIOLoopBound(clients, eventLoop: loop)
    }.get()
    let unread = memory.unread
    try await loop.submit {
      let (slow, deaf, last) = (clients.value[0], clients.value[1], clients.value[2])
      let now = NIODeadline.now()
      #expect(unread.bytes == 0)
      // 7 and 8 shares, as the bytes may be in buffers of twice their size.
      slow.stopsReading(52_000)
      deaf.stopsReading(60_000)
      #expect(unread.bytes == 15 * Self.share)
      for client in [slow, deaf] { client.connection.tick(now) }
      slow.heldBytes -= DoorLimits.readLeast
      for client in [slow, deaf] { client.connection.tick(now + .seconds(5)) }
      #expect(unread.bytes == 12 * Self.share)
      last.stopsReading(60_000)
    }.get()
    // What that has caused is executed before this.
    try await loop.submit {
      #expect(clients.value.map(\.isDropped) == [false, true, false])
      #expect(unread.bytes == 12 * Self.share)
      // Who reads everything has nothing unread, and who is gone neither.
      clients.value[0].connection.writabilityChanged(true)
      #expect(unread.bytes == 8 * Self.share)
      for client in clients.value { client.connection.lost() }
      #expect(unread.bytes == 0)
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// Output that the transport has taken, and the client has not, counts at a tick, although the transport would take more.
  @Test func whatATransportHasTakenCountsAtATick() async throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound(bytesMax: 8 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (user, unread) = (try bare("juliet@localhost"), memory.unread)
    let client = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
      let client = Client(connection)
      connection.perform(.authenticated(user, nil))
      connection.flush()
      let now = NIODeadline.now()
      // As much as one share is sent between two ticks.
      client.heldBytes = 20_000
      for shares in [0, 3] {
        connection.write { $0.buffer.writeRepeatingByte(0x20, count: Self.share / 2) }
        connection.flush()
        #expect(unread.bytes == shares * Self.share)
      }
      for (bytes, shares) in [(Self.share - 1, 0), (20_000, 3), (0, 0), (200_000, 0)] {
        client.heldBytes = bytes
        connection.tick(now)
        #expect(unread.bytes == shares * Self.share)
      }
      // The last was more than there may be, but the client has read it meanwhile.
      client.heldBytes = 0
      return NIOLoopBound(client, eventLoop: loop)
    }.get()
    try await loop.submit {
      #expect(!client.value.isDropped)
      client.value.heldBytes = 200_000
      client.value.connection.tick(.now())
    }.get()
    try await loop.submit {
      #expect(client.value.isDropped)
      client.value.connection.lost()
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// The buffer of TLS stays as large as long output has made it.
  @Test func whatTLSKeepsCountsWithUnreadOutput() async throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound()
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (user, unread) = (try bare("juliet@localhost"), memory.unread)
    try await loop.submit {
      for (isSecured, shares) in [(false, 3), (true, 6)] {
        let connection = try listener.connect(on: loop, framing: .document, isSecured: isSecured, peer: "192.0.2.1")
        let client = Client(connection)
        connection.perform(.authenticated(user, nil))
        connection.flush()
        client.stopsReading(20_000)
        #expect(unread.bytes == shares * Self.share)
        connection.lost()
        #expect(unread.bytes == 0)
      }
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// A user whose new sessions read nothing has none of others disconnected, although theirs have waited for longer.
  @Test func theUserWithTheMostUnreadIsDisconnected() async throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound(bytesMax: 10 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let users = try ["romeo", "juliet", "juliet", "juliet"].map { try bare("\($0)@localhost") }
    let clients = try await loop.submit {
      let clients = try users.map { user in
        let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
        let client = Client(connection)
        connection.perform(.authenticated(user, nil))
        connection.flush()
        client.stopsReading(40_000)
        return client
      }
      return NIOLoopBound(clients, eventLoop: loop)
    }.get()
    try await loop.submit {
      #expect(clients.value.map(\.isDropped) == [false, true, true, false])
      for client in clients.value { client.connection.lost() }
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// One that has been slow for too long counts as one that reads nothing.
  @Test func whoIsSlowForMinutesIsDisconnectedFirst() async throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound(bytesMax: 15 * Self.share, isByNetwork: false)
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let user = try bare("juliet@localhost")
    let clients = try await loop.submit {
      let clients = try (1...2).map { _ in
        let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
        let client = Client(connection)
        connection.perform(.authenticated(user, nil))
        return client
      }
      let now = NIODeadline.now()
      clients[0].stopsReading(120_000)
      clients[0].connection.tick(now)
      clients[0].heldBytes -= DoorLimits.readLeast
      // The time to log in is over by then, which has nothing to do with it.
      clients[0].connection.deadline = .distantFuture
      clients[0].connection.tick(now + DoorLimits.slowReading)
      clients[1].stopsReading(30_000)
      return NIOLoopBound(clients, eventLoop: loop)
    }.get()
    try await loop.submit {
      #expect(clients.value.map(\.isDropped) == [true, false])
      for client in clients.value { client.connection.lost() }
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// What was read and waits for an earlier answer counts, too. The user with the most loses the oldest session.
  @Test func theUserWithTheMostUnfinishedIsDisconnected() async throws {
    var memory = SessionMemory()
    memory.unfinished = MemoryBound(bytesMax: 10 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let (users, unfinished) = (
      try ["romeo", "juliet", "juliet"].map { try bare("\($0)@localhost") }, memory.unfinished
    )
    let clients = try await loop.submit {
      let clients = try users.map { user in
        let connection = try listener.connect(on: loop, framing: .document, isSecured: true, peer: "192.0.2.1")
        let client = Client(connection)
        connection.perform(.authenticated(user, nil))
        connection.pause(.posts)
        connection.received(ByteBuffer(repeating: 0x20, count: 1_000))
        return client
      }
      #expect(unfinished.bytes == 0)
      for client in clients { client.connection.received(ByteBuffer(repeating: 0x20, count: 60_000)) }
      return NIOLoopBound(clients, eventLoop: loop)
    }.get()
    try await loop.submit {
      #expect(clients.value.map(\.isDropped) == [false, true, false])
      #expect(unfinished.bytes == 8 * Self.share)
      for client in clients.value { client.connection.lost() }
      #expect(unfinished.bytes == 0)
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }

  /// Each stanza has its own time, from the first look on.
  @Test func aStanzaThatIsNotCompleteInTimeEndsTheStream() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    _ = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let client = try await RawServer(
      network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
    try await client.logIn("juliet", password: "x")
    let (begin, complete) = ("<iq type='get' id='ping", "<ping xmlns='urn:xmpp:ping'/></iq>")
    try await client.ask(
      "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>\(begin)1'>", until: "</iq>")
    let (place, start) = (try #require(listener.mounted.first), NIODeadline.now())
    func tick(at times: [TimeAmount]) async throws {
      try await place.loop.submit {
        for time in times {
          for connection in place.loopContext.value.allConnections { connection.tick(start + time) }
        }
      }.get()
    }
    let time = DoorLimits.stanzaTime
    try await tick(at: [.seconds(0), time - .seconds(1)])
    try await client.ask("\(complete)\(begin)2'>", until: "id='ping1'")
    try await tick(at: [time])
    try await client.ask("\(complete)\(begin)3'>", until: "id='ping2'")
    try await tick(at: [time, time + time])
    #expect(await client.read(to: "not complete in time").contains("<policy-violation "))
    try? await client.close()
    await listener.stopAccepting()
    try await network.end()
  }

  private final class Server: RemoteConnection {
    override var readerLimits: ReaderLimits { .authenticated }
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

  /// The servers of one zone count as one, however many subdomains and connections they have. That which is lost is closed at once: TLS
  /// would keep what it does not read for some seconds.
  @Test func theServerWithTheMostUnreadIsDisconnected() throws {
    var memory = SessionMemory()
    memory.unread = MemoryBound(bytesMax: 12 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let (loop, door) = (EmbeddedEventLoop(), network.door)
    let loopContext = LoopContext(loop: loop, Metrics())
    let context = try #require(SideTrust("capulet.example", network).serverContext("capulet.example"))
    func connect(to domain: String, port: Int, shares: Int) throws -> (channel: EmbeddedChannel, closes: Closes) {
      let closes = Closes()
      let server = Server(
        door: door, loopContext: loopContext, peer: "192.0.2.1:\(port)", contentNamespace: NS.server,
        unreadBytesMax: 1 << 20)
      let channel = EmbeddedChannel(handlers: [NIOSSLServerHandler(context: context), closes, server], loop: loop)
      try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: port)).wait()
      server.sending = door.parley.sending.budget(of: .domain(domain), now: door.parley.clock.now)
      channel.isWritable = false
      server.append { $0.raw(ByteBuffer(repeating: 0x20, count: shares * Self.share)) }
      server.flush()
      return (channel, closes)
    }
    var servers = [try connect(to: "montague.example", port: 1, shares: 4)]
    for port in 2...5 { servers.append(try connect(to: "s\(port).capulet.example", port: port, shares: 2)) }
    #expect(memory.unread.bytes == 12 * Self.share)
    servers.append(try connect(to: "s6.capulet.example", port: 6, shares: 2))
    loop.run()
    #expect(servers.map { $0.channel.isActive } == [true, false, true, true, true, true])
    #expect(servers[1].closes.count == 0)
    for server in servers { server.channel.pipeline.syncOperations.cut() }
    loop.run()
    #expect(memory.unread.bytes == 0)
    network.group.shutdownGracefully { _ in }
  }

  /// The servers of one zone count as one with their unfinished stanzas, of which each has some 35 shares.
  @Test func theZoneWithTheMostUnfinishedIsDisconnected() throws {
    var memory = SessionMemory()
    memory.unfinished = MemoryBound(bytesMax: 160 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let (loop, door) = (EmbeddedEventLoop(), network.door)
    let loopContext = LoopContext(loop: loop, Metrics())
    func connect(to domain: String, port: Int) throws -> EmbeddedChannel {
      let server = Server(
        door: door, loopContext: loopContext, peer: "192.0.2.1:\(port)", contentNamespace: NS.server,
        unreadBytesMax: 1 << 20)
      let channel = EmbeddedChannel(handlers: [server], loop: loop)
      try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: port)).wait()
      server.sending = door.parley.sending.budget(of: .domain(domain), now: door.parley.clock.now)
      let before = memory.unfinished.bytes
      try channel.writeInbound(ByteBuffer(string: RawServer.header() + "<message><x/>"))
      #expect(memory.unfinished.bytes == before)
      try channel.writeInbound(ByteBuffer(string: String(repeating: "<x/>y", count: 6_000)))
      return channel
    }
    var servers = [try connect(to: "montague.example", port: 1)]
    for port in 2...5 { servers.append(try connect(to: "s\(port).capulet.example", port: port)) }
    loop.run()
    #expect(servers.map(\.isActive) == [true, false, true, true, true])
    // What is complete does not count.
    let before = memory.unfinished.bytes
    try servers[0].writeInbound(ByteBuffer(string: "</message>"))
    #expect(before > 4 * 32 * Self.share && memory.unfinished.bytes < before - 32 * Self.share)
    for server in servers { server.pipeline.syncOperations.cut() }
    loop.run()
    #expect(memory.unfinished.bytes == 0)
    network.group.shutdownGracefully { _ in }
  }

  /// The socket of a client that reads nothing from some time on, with what it was given since.
  private final class Socket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var isStuck = false
    var (bytes, capacity) = (0, 0)

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if isStuck {
        let buffer = unwrapOutboundIn(data)
        bytes += buffer.readableBytes
        capacity += buffer.capacity
      }
      context.write(data, promise: promise)
    }
    func flush(context: ChannelHandlerContext) { if !isStuck { context.flush() } }
  }

  /// The channel counts bytes: the buffers in which it keeps them must not be much larger, behind TLS either.
  @Test func unreadOutputBehindTLSTakesLittleMoreThanItsBytes() throws {
    let network = try ServerNetwork()
    let loop = EmbeddedEventLoop()
    func context(_ domain: String, server: Bool) throws -> NIOSSLContext {
      try NIOSSLContext(configuration: try #require(SideTrust.configuration(domain, server: server)))
    }
    let ours = try context("capulet.example", server: true)
    let connection = XMPPConnection(
      door: network.door, loopContext: LoopContext(loop: loop, Metrics()), framing: .document, isSecured: true,
      peer: "192.0.2.1", memory: MemoryBound().enter("192.0.2.1") {}, onLoginEnded: { _ in true })
    let transport = TCPTransport(
      connection, of: nil, tls: { _ in TLSIdentity(context: ours, endPoint: nil) }, exporters: nil, handshakes: nil)
    let (server, socket) = (EmbeddedChannel(loop: loop), Socket())
    try transport.secure(server)
    try server.pipeline.syncOperations.addHandler(transport)
    try server.pipeline.syncOperations.addHandler(socket, position: .first)
    let client = EmbeddedChannel(
      handler: try NIOSSLClientHandler(
        context: try context("montague.example", server: false), serverHostname: "capulet.example",
        customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }, configuration: .init()),
      loop: loop)
    let address = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
    for channel in [server, client] { channel.connect(to: address, promise: nil) }
    var isMoving = true
    while isMoving {
      isMoving = false
      loop.run()
      for (from, to) in [(client, server), (server, client)] {
        while let bytes = try from.readOutbound(as: ByteBuffer.self) {
          try to.writeInbound(bytes)
          isMoving = true
        }
      }
    }
    #expect(SecureVersion(server.pipeline.syncOperations) == .v13)
    socket.isStuck = true
    for _ in 0..<200 { transport.send(ByteBuffer(repeating: 0x20, count: 200), ends: []) }
    #expect(socket.bytes > 200 * 200 && socket.capacity < 2 * socket.bytes)
    for channel in [server, client] { channel.pipeline.syncOperations.cut() }
    loop.run()
    network.group.shutdownGracefully { _ in }
  }

  /// What a client has not acknowledged counts at once, not only at the next tick, and what it acknowledges no longer does. So a user
  /// to whom much is sent at once is bound.
  @Test func whatIsNotAcknowledgedCountsAtOnce() async throws {
    var memory = SessionMemory()
    memory.unacknowledged = MemoryBound(bytesMax: 8 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let place = try await network.place()
    let juliet = try await network.stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let (door, loopContext, unacknowledged) = (network.door, place.loopContext, memory.unacknowledged)
    let session = try await place.loop.submit {
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      session.follow(from: .zero)
      _ = session.enable(resume: true, max: nil)
      func send(_ count: Int) { session.send(as: .bytes(ByteBuffer(repeating: 0x20, count: count))) { _ in } }
      // Few bytes are counted at the next tick.
      send(DoorLimits.unacknowledgedBytesUncounted - 1)
      #expect(unacknowledged.bytes == 0)
      send(1)
      #expect(unacknowledged.bytes == Self.share)
      send(3 * Self.share - 3 * DoorLimits.keptStanzaBytes)
      #expect(unacknowledged.bytes == 4 * Self.share)
      #expect(session.manage(.acknowledge(2)) == nil)
      #expect(unacknowledged.bytes == 3 * Self.share)
      #expect(session.manage(.acknowledge(3)) == nil)
      #expect(unacknowledged.bytes == 0)
      send(9 * Self.share)
      return NIOLoopBound(session, eventLoop: place.loop)
    }.get()
    // The end is executed before this.
    try await place.loop.submit { #expect(session.value.isEnded) }.get()
    #expect(unacknowledged.bytes == 0)
    try await network.end()
  }

  /// What a session keeps for as long as its client is online counts at the next tick, beside what the core knows of.
  @Test func whatASessionKeepsCountsAtATick() async throws {
    var memory = SessionMemory()
    memory.online = MemoryBound(bytesMax: 8 * Self.share)
    let network = try ServerNetwork(memory: memory)
    let place = try await network.place()
    let (parley, juliet) = (network.stage.parley, try await network.stage.user("juliet"))
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let (door, loopContext, online) = (network.door, place.loopContext, memory.online)
    let session = try await place.loop.submit {
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      session.goOnline(by: nil, over: .tcp) { _ in }
      return NIOLoopBound(session, eventLoop: place.loop)
    }.get()
    // It is registered before this is done.
    try await parley.post(.confirm(.zero), by: juliet)
    try await place.loop.submit {
      let presence = Presence(
        from: juliet, resource: "balcony", availability: .online, extras: [UInt8](repeating: 32, count: 100_000),
        time: parley.clock.now)
      parley.hub.setPresence(presence, of: session.value.handle)
      for number in 0..<100 {
        session.value.roomsElsewhere.sent(
          isAvailable: true, to: try bare("room\(number)@muc.example"), nick: String(repeating: "x", count: 1_000))
      }
      #expect(online.bytes == 0)
      session.value.tick(.now())
      #expect(online.bytes == Self.share)
      session.value.end()
      #expect(online.bytes == 0)
    }.get()
    try await network.end()
  }

  /// Entries that wait for an acknowledgement make a session lag by their bytes as well, also after it is resumed; messages then wait
  /// in the log.
  @Test func aSessionLagsByTheBytesOfItsEntries() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let juliet = try await network.stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    for _ in 1...8 {
      _ = try await network.stage.say(String(repeating: "x", count: 190_000), from: juliet, to: juliet)
    }
    let entries = try await network.stage.parley.read { reader in
      try reader.feed(of: LogAccess.own(juliet), after: .zero, limit: 8, all: false)
    }
    #expect(entries.count == 8)
    let (door, loopContext) = (network.door, place.loopContext)
    try await place.loop.submit {
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      session.follow(from: .zero)
      _ = session.enable(resume: true, max: nil)
      func send(_ range: Range<Int>) {
        for entry in entries[range] { session.send(as: .entry(entry, .direct)) { _ in } }
      }
      send(0..<5)
      #expect(!session.lags && session.owesHalf)
      send(5..<6)
      #expect(session.lags && session.entryBytes >= DoorLimits.unacknowledgedEntryBytesMax)
      #expect(session.manage(.acknowledge(3)) == nil)
      #expect(!session.lags && session.owesHalf)
      send(6..<8)
      #expect(!session.lags)
      let state = try #require(session.state)
      let resumed = XMPPSession(
        door: door, loopContext: loopContext.value, handle: session.handle, resuming: state)
      #expect(resumed.entryBytes == session.entryBytes)
      #expect(resumed.manage(.acknowledge(8)) == nil)
      #expect(resumed.entryBytes == 0 && !resumed.owesHalf)
      resumed.end()
    }.get()
    try await network.end()
  }

  /// A writer whose buffer waits in a channel gets a short one, and else keeps its own.
  @Test func aWriterKeepsItsBufferUnlessAChannelHasIt() {
    let loopContext = LoopContext(loop: EmbeddedEventLoop(), Metrics())
    func writer() -> ElementWriter {
      var writer = loopContext.takeWriter()
      writer.raw(ByteBuffer(repeating: 0x20, count: 50_000))
      return writer
    }
    loopContext.give(writer())
    #expect(loopContext.takeWriter().buffer.capacity == 65_536)
    let waiting = writer()
    loopContext.give(waiting)
    #expect(loopContext.takeWriter().buffer.capacity == 1_024)
    #expect(waiting.buffer.readableBytes == 50_000)
  }

  /// An element that waits for an earlier answer counts with its records, however few bytes it has.
  @Test func elementsThatWaitBeforeTheLoginAreCounted() async throws {
    let network = try ServerNetwork()
    let memory = MemoryBound()
    let listener = try await XMPPListener(
      door: network.door, group: network.group, tls: { _ in nil }, memory: memory)
    let loop = try #require(listener.mounted.first).loop
    let element = try Element(xml: "<a>" + String(repeating: "<b/>", count: 150) + "</a>")
    try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .messages, isSecured: true, peer: "192.0.2.1")
      let client = Client(connection)
      #expect(memory.bytes == Self.share)
      connection.pause(.posts)
      // Each has 151 records of 32 bytes, and 607 bytes.
      for _ in 1...9 { connection.received(.element(element)) }
      #expect(memory.bytes == 4 * Self.share)
      connection.unpause(.posts)
      #expect(memory.bytes == Self.share)
      client.connection.lost()
      #expect(memory.bytes == 0)
    }.get()
    await listener.stopAccepting()
    try await network.end()
  }
}
