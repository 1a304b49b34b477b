import Basics
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import DNS

@Suite(.timeLimit(.minutes(1))) struct StubResolverTests {
  private let timers = ManualTimers()
  private let service = name("_xmpp-server._tcp.prosody.test")

  private func resolver(
    _ servers: [NameServer], authenticity: StubResolver.Authenticity = .auto
  ) -> StubResolver {
    StubResolver(
      .servers(servers.map(\.address)), authenticity: authenticity, group: MultiThreadedEventLoopGroup.singleton,
      timers: timers)
  }

  // MARK: Answers

  @Test func anAnswerIsAskedForOnce() async throws {
    let server = try await NameServer.start { [message(Captured.services, id: $0.id)] }
    let resolver = resolver([server])
    let answer = try await resolver.lookUp(service, .srv)
    #expect(answer.services.map(\.port) == [5269])
    #expect(answer.isSecure)
    #expect(try await resolver.lookUp(service, .srv) == answer)
    #expect(server.queries.map(\.way) == [.datagram])
    #expect(server.queries.first.map { message($0.bytes, id: 0x2a17) } == Captured.query)
    // The record's time is over.
    timers.pass(.seconds(60))
    #expect(try await resolver.lookUp(service, .srv) == answer)
    #expect(server.queries.count == 2)
    resolver.forget()
    _ = try await resolver.lookUp(service, .srv)
    #expect(server.queries.count == 3)
    await server.stop()
  }

  @Test func absenceIsKeptToo() async throws {
    let server = try await NameServer.start { [message(Captured.noSuchName, id: $0.id)] }
    let resolver = resolver([server])
    for _ in 0..<2 { #expect(try await resolver.lookUp(name("nobody.test"), .aaaa).outcome == .noSuchName) }
    #expect(server.queries.count == 1)
    await server.stop()
  }

  @Test func manyCallersAskOnce() async throws {
    let held = Mutex(false)
    let server = try await NameServer.start { query in
      // The first query is not answered until the second attempt, so that all callers wait for it.
      held.withLock { isSecond in
        defer { isSecond = true }
        return isSecond ? [message(Captured.services, id: query.id)] : []
      }
    }
    let resolver = resolver([server])
    let callers = (0..<50).map { _ in Task { try await resolver.lookUp(service, .srv) } }
    _ = await server.asked()
    timers.pass(.seconds(2))
    for caller in callers { #expect(try await caller.value.outcome == .found) }
    #expect(server.queries.count == 2)
    await server.stop()
  }

  @Test func questionsUnderWayAreBounded() async throws {
    let silent = try await NameServer.start { _ in [] }
    let resolver = StubResolver(
      .servers([silent.address]), authenticity: .auto, group: MultiThreadedEventLoopGroup.singleton, timers: timers,
      questionsMax: 1)
    let asking = Task { try await resolver.lookUp(service, .srv) }
    _ = await silent.asked()
    await #expect(throws: LookupFailure.overloaded) { try await resolver.lookUp(service, .aaaa) }
    timers.pass(.seconds(2))
    await outwait(silent, [4, 8])
    await #expect(throws: LookupFailure.timedOut) { try await asking.value }
    // Failures are not kept, and there is room again.
    let again = Task { try await resolver.lookUp(service, .aaaa) }
    await outwait(silent, [2, 4, 8])
    await #expect(throws: LookupFailure.timedOut) { try await again.value }
    await silent.stop()
  }

  /// Whoever has a zone whose name servers do not answer keeps nobody else from asking.
  @Test func questionsOfOneZoneAreBounded() async throws {
    let silent = try await NameServer.start { _ in [] }
    let resolver = StubResolver(
      .servers([silent.address]), authenticity: .auto, group: MultiThreadedEventLoopGroup.singleton, timers: timers,
      questionsMax: 2 * DNSLimits.zoneShare)
    let asking = (0..<2).map { number in
      Task { try await resolver.lookUp(name("_xmpp-server._tcp.s\(number).evil.test"), .srv) }
    }
    for _ in asking { _ = await silent.asked() }
    await #expect(throws: LookupFailure.overloaded) { try await resolver.lookUp(name("s2.evil.test"), .aaaa) }
    let other = Task { try await resolver.lookUp(name("mantua.test"), .aaaa) }
    _ = await silent.asked()
    for seconds in [2, 4, 8] as [Int64] {
      timers.pass(.seconds(seconds))
      if seconds < 8 { for _ in 0..<3 { _ = await silent.asked() } }
    }
    for task in asking + [other] { await #expect(throws: LookupFailure.timedOut) { try await task.value } }
    await silent.stop()
  }

  @Test func withoutServersNothingIsAnswered() async throws {
    await #expect(throws: LookupFailure.timedOut) { try await resolver([]).lookUp(service, .srv) }
  }

  @Test(arguments: [
    (StubResolver.Authenticity.auto, true), (.always, true), (.never, false),
  ]) func authenticityIsTheOperatorsChoice(_ authenticity: StubResolver.Authenticity, _ isSecure: Bool) async throws {
    let server = try await NameServer.start { [message(Captured.services, id: $0.id)] }
    #expect(try await resolver([server], authenticity: authenticity).lookUp(service, .srv).isSecure == isSecure)
    // DO and AD are asked for only where they count.
    let flags = server.queries.first.map { $0.bytes[3] & 0x20 != 0 }
    #expect(flags == isSecure)
    await server.stop()
  }

  @Test func everyQueryHasItsOwnIDAndPort() async throws {
    let server = try await NameServer.start { [message(Captured.noSuchName, id: $0.id)] }
    let resolver = resolver([server])
    for _ in 0..<20 {
      _ = try await resolver.lookUp(name("nobody.test"), .aaaa)
      resolver.forget()
    }
    #expect(Set(server.queries.map(\.id)).count >= 19)
    #expect(Set(server.queries.map(\.port)).count >= 10)
    await server.stop()
  }

  // MARK: Truncation

  @Test func aTruncatedAnswerIsFetchedOverTCP() async throws {
    let many = name("_xmpp-server._tcp.many.test")
    let server = try await NameServer.start { query in
      query.way == .datagram
        ? [message(Captured.truncated, id: query.id)] : [Self.manyServices(id: query.id, count: 61)]
    }
    let answer = try await resolver([server]).lookUp(many, .srv)
    #expect(answer.services.count == 61)
    #expect(server.queries.map(\.way) == [.datagram, .stream])
    await server.stop()
  }

  @Test func whatIsTruncatedOverTCPIsMalformed() async throws {
    let server = try await NameServer.start { [message(Captured.truncated, id: $0.id)] }
    await #expect(throws: LookupFailure.malformed) {
      try await resolver([server]).lookUp(name("_xmpp-server._tcp.many.test"), .srv)
    }
    await server.stop()
  }

  @Test func anAnswerOverTCPIsBounded() async throws {
    let server = try await NameServer.start { query in
      query.way == .datagram
        ? [message(Captured.truncated, id: query.id)] : [[UInt8](repeating: 0, count: DNSLimits.messageBytesMax + 1)]
    }
    await #expect(throws: LookupFailure.malformed) {
      try await resolver([server]).lookUp(name("_xmpp-server._tcp.many.test"), .srv)
    }
    await server.stop()
  }

  // MARK: Lies

  @Test func strayDatagramsArePassedOver() async throws {
    let server = try await NameServer.start { query in
      [
        message(Captured.services, id: query.id &+ 1),  // a wrong id
        message(Captured.six, id: query.id),  // a wrong question
        message(query.bytes, id: query.id),  // a query
        [], [1],
        message(Captured.services, id: query.id),
      ]
    }
    let answer = try await resolver([server]).lookUp(service, .srv)
    #expect(answer.services.map(\.target) == [name("host.prosody.test")])
    #expect(server.queries.count == 1)
    await server.stop()
  }

  @Test func manyGuessesLeadToTCP() async throws {
    let server = try await NameServer.start { query in
      query.way == .datagram
        ? (1...DNSLimits.strayDatagramsMax).map { message(Captured.six, id: query.id &+ UInt16($0)) }
        : [message(Captured.services, id: query.id)]
    }
    #expect(try await resolver([server]).lookUp(service, .srv).outcome == .found)
    #expect(server.queries.map(\.way) == [.datagram, .stream])
    await server.stop()
  }

  /// The system passes over datagrams from another address than the one that was asked.
  @Test func anotherSourceIsNotHeard() async throws {
    let liar = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    let isSecond = Mutex(false)
    let server = try await NameServer.start { query in
      isSecond.withLock { isSecond in
        defer { isSecond = true }
        return isSecond ? [message(Captured.services, id: query.id)] : []
      }
    }
    let asking = Task { try await resolver([server]).lookUp(service, .srv) }
    let query = try #require(await server.asked())
    let victim = try SocketAddress(ipAddress: "127.0.0.1", port: #require(query.port))
    let lie = message(Captured.insecure, id: query.id)
    let answer = message(Captured.services, id: query.id)
    for bytes in [lie, answer] {
      // The system may tell the liar that nobody takes it.
      try? await liar.writeAndFlush(AddressedEnvelope(remoteAddress: victim, data: ByteBuffer(bytes: bytes)))
    }
    timers.pass(.seconds(2))
    #expect(try await asking.value.outcome == .found)
    #expect(server.queries.count == 2)
    try? await liar.close().get()
    await server.stop()
  }

  @Test func aMalformedAnswerLeadsToTheNextServer() async throws {
    let first = try await NameServer.start { [Array(message(Captured.services, id: $0.id).dropLast(3))] }
    let second = try await NameServer.start { [message(Captured.services, id: $0.id)] }
    #expect(try await resolver([first, second]).lookUp(service, .srv).outcome == .found)
    #expect(first.queries.count == 1)
    await first.stop()
    await #expect(throws: LookupFailure.malformed) {
      let alone = try await NameServer.start { [Array(message(Captured.services, id: $0.id).dropLast(3))] }
      _ = try await resolver([alone]).lookUp(service, .srv)
    }
    await second.stop()
  }

  // MARK: Silence

  @Test func theNextServerIsAsked() async throws {
    let silent = try await NameServer.start { _ in [] }
    let second = try await NameServer.start { [message(Captured.services, id: $0.id)] }
    let resolver = resolver([silent, second])
    let asking = Task { try await resolver.lookUp(service, .srv) }
    _ = await silent.asked()
    timers.pass(.seconds(2))
    #expect(try await asking.value.outcome == .found)
    // For a minute the silent one has its turn last.
    resolver.forget()
    _ = try await resolver.lookUp(service, .srv)
    #expect(silent.queries.count == 1)
    timers.pass(.seconds(60))
    let again = Task { try await resolver.lookUp(service, .srv) }
    _ = await silent.asked()
    timers.pass(.seconds(2))
    #expect(try await again.value.outcome == .found)
    await silent.stop()
    await second.stop()
  }

  @Test func patienceDoublesAndEnds() async throws {
    let silent = try await NameServer.start { _ in [] }
    let asking = Task { try await resolver([silent]).lookUp(service, .srv) }
    await outwait(silent, [2, 4, 8])
    await #expect(throws: LookupFailure.timedOut) { try await asking.value }
    #expect(timers.delays == [.seconds(2), .seconds(4), .seconds(8)])
    await silent.stop()
  }

  @Test func aHangOverTCPEnds() async throws {
    let server = try await NameServer.start { query in
      query.way == .datagram
        ? [message(Captured.truncated, id: query.id)] : [Array(message(Captured.services, id: 1).prefix(2))]
    }
    let many = name("_xmpp-server._tcp.many.test")
    await #expect(throws: LookupFailure.malformed) { try await resolver([server]).lookUp(many, .srv) }
    await server.stop()
    let hanging = try await NameServer.start { query in
      query.way == .datagram ? [message(Captured.truncated, id: query.id)] : []
    }
    let asking = Task { try await resolver([hanging]).lookUp(many, .srv) }
    for seconds in [2, 4, 8] as [Int64] {
      for way in [NameServer.Way.datagram, .stream] { #expect(await hanging.asked()?.way == way) }
      timers.pass(.seconds(seconds))
    }
    await #expect(throws: LookupFailure.timedOut) { try await asking.value }
    await hanging.stop()
  }

  // MARK: Refusals

  @Test func aServerThatCannotHelpIsAskedOnce() async throws {
    let failing = try await NameServer.start { query in
      var answer = message(Captured.services, id: query.id)
      answer[3] = answer[3] & 0xf0 | 2
      return [answer]
    }
    await #expect(throws: LookupFailure.serverFailure) { try await resolver([failing]).lookUp(service, .srv) }
    #expect(failing.queries.count == 1)
    await failing.stop()
  }

  /// RFC 6891 7.
  @Test func aServerFromBeforeEDNS() async throws {
    let old = try await NameServer.start { query in
      // The count of further records.
      query.bytes[11] == 1
        ? [Captured.bytes("000081810000000000000000")].map { message($0, id: query.id) }
        : [message(Captured.services, id: query.id)]
    }
    #expect(try await resolver([old]).lookUp(service, .srv).outcome == .found)
    #expect(old.queries.last.map { message($0.bytes, id: 0x2a17) } == Captured.plainQuery)
    await old.stop()
  }

  // MARK: The file

  @Test func theFileIsReadAnew() async throws {
    let path = "/tmp/parley-resolv-\(UInt64.random(in: 0 ... .max)).conf"
    defer { unlink(path) }
    // Whether or not this machine has a name server, an attempt begins with a timer.
    try Files.write(Array("nameserver 127.255.255.254\noptions timeout:1 attempts:1".utf8), to: path, mode: 0o600)
    let resolver = StubResolver(
      .system(path: path), authenticity: .auto, group: MultiThreadedEventLoopGroup.singleton, timers: timers)
    _ = try? await resolver.lookUp(service, .srv)
    #expect(timers.delays == [.seconds(1)])
    resolver.forget()
    try Files.write(Array("nameserver 127.255.255.254\noptions timeout:3 attempts:1".utf8), to: path, mode: 0o600)
    _ = try? await resolver.lookUp(service, .srv)
    #expect(timers.delays == [.seconds(1), .seconds(1)])
    resolver.forget()
    timers.pass(DNSLimits.configurationAge)
    _ = try? await resolver.lookUp(service, .srv)
    #expect(timers.delays == [.seconds(1), .seconds(1), .seconds(3)])
  }

  /// Lets so many seconds pass after each of the next queries to a server.
  private func outwait(_ server: NameServer, _ times: [Int64]) async {
    for seconds in times {
      _ = await server.asked()
      timers.pass(.seconds(seconds))
    }
  }

  /// Returns an answer with many records for `_xmpp-server._tcp.many.test`.
  private static func manyServices(id: UInt16, count: Int) -> [UInt8] {
    var bytes = message(Array(Captured.truncated.dropLast(11)), id: id)
    bytes[2] &= ~0x02
    (bytes[7], bytes[11]) = (UInt8(count), 0)
    for number in 0..<count {
      bytes += Captured.bytes("c00c" + "00210001" + "0000003c" + "0009" + "000a")
      bytes += [0, UInt8(number), 0x14, 0x95, 1, 0x61, 0]
    }
    return bytes
  }
}
