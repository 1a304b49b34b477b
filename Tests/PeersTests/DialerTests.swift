import Basics
import DNS
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Peers

@Suite(.timeLimit(.minutes(1))) struct DialerTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.any()

  /// Answers from a table; what is not in it is absent.
  private final class Table: DNSResolver {
    private let answers: [String: Result<Answer, LookupFailure>]
    private let asked = Mutex<[String]>([])

    init(_ answers: [String: Result<Answer, LookupFailure>]) { self.answers = answers }

    var questions: [String] { asked.withLock { $0 } }

    func forget() {}

    func lookUp(_ name: DomainName, _ type: RecordType) async throws(LookupFailure) -> Answer {
      let question = "\(name) \(type)"
      asked.withLock { $0.append(question) }
      return try (answers[question] ?? .success(Answer(.noSuchName, name: name, isSecure: false, seconds: 60))).get()
    }
  }

  private static func answer(_ records: [RecordData], isSecure: Bool = false) -> Result<Answer, LookupFailure> {
    .success(Answer(.found, name: .root, records: records, isSecure: isSecure, seconds: 60))
  }

  private static func service(_ priority: UInt16, _ port: Int, _ host: String) -> RecordData {
    .service(
      ServiceRecord(priority: priority, weight: 0, port: UInt16(port), target: DomainName(host) ?? .root))
  }

  private func address(_ text: String) throws -> RecordData { .address(try #require(IPAddress(text))) }

  private func dialer(_ table: Table, routes: [String: ServerTarget] = [:]) throws -> Dialer {
    Dialer(
      resolver: table, routes: routes,
      addresses: PublicAddresses(exceptions: [try #require(Network("127.0.0.0/9"))]))
  }

  /// Accepts connections and says nothing.
  private func listen() async throws -> any Channel {
    try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
  }

  private func port(_ channel: any Channel) throws -> Int { try #require(channel.localAddress?.port) }

  /// Returns a port that nobody listens on.
  private func closedPort() async throws -> Int {
    let channel = try await listen()
    let port = try port(channel)
    try await channel.close().get()
    return port
  }

  // MARK: Connections

  @Test func theFirstServerIsConnected() async throws {
    let listener = try await listen()
    let port = try port(listener)
    let table = Table([
      "_xmpps-server._tcp.example.org srv": Self.answer([Self.service(1, port, "xmpp.example.net")]),
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(2, 5269, "xmpp.example.net")]),
      "xmpp.example.net a": Self.answer([try address("127.0.0.1")]),
    ])
    let connection = try await dialer(table).dial("example.org", on: loop)
    #expect(connection.target == ServerTarget(name: "xmpp.example.net", port: port, isDirectTLS: true))
    #expect(connection.channel.eventLoop === loop)
    #expect(connection.channel.remoteAddress?.port == port)
    #expect(try await connection.channel.getOption(.autoRead).get() == false)
    #expect(try await connection.channel.getOption(.userTimeout).get() == PeerLimits.transmission)
    #expect(!table.questions.contains { $0.hasPrefix("_5270") || $0.hasSuffix("tlsa") })
    try await connection.channel.close().get()
    try await listener.close().get()
  }

  @Test func aServerThatIsNotThereIsPassedOver() async throws {
    let listener = try await listen()
    let (open, closed) = (try port(listener), try await closedPort())
    let table = Table([
      "_xmpp-server._tcp.example.org srv": Self.answer([
        Self.service(1, closed, "a.example.org"), Self.service(2, open, "b.example.org"),
      ]),
      "a.example.org a": Self.answer([try address("127.0.0.1")]),
      "b.example.org a": Self.answer([try address("127.0.0.1")]),
    ])
    let connection = try await dialer(table).dial("example.org", on: loop)
    #expect(connection.target == ServerTarget(name: "b.example.org", port: open, isDirectTLS: false))
    try await connection.channel.close().get()
    try await listener.close().get()
  }

  /// RFC 6120 3.2.1: the servers that were of no use are left out, whatever their certificates.
  @Test func serversMayBeLeftOut() async throws {
    let listener = try await listen()
    let port = try port(listener)
    let table = Table([
      "_xmpps-server._tcp.example.org srv": Self.answer([Self.service(1, port, "a.example.org")]),
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(2, port, "a.example.org")]),
      "a.example.org a": Self.answer([try address("127.0.0.1")]),
    ])
    let direct = ServerTarget(
      name: "a.example.org", port: port, isDirectTLS: true, isSecure: true,
      tlsa: [record])
    let upgraded = ServerTarget(name: "a.example.org", port: port, isDirectTLS: false)
    let connection = try await dialer(table).dial("example.org", on: loop, excluding: [direct])
    #expect(connection.target == upgraded)
    await #expect(throws: DialFailure.unreachable(reasons: [])) {
      try await dialer(table).dial("example.org", on: loop, excluding: [direct, upgraded])
    }
    try await connection.channel.close().get()
    try await listener.close().get()
  }

  @Test func reasonsAreTold() async throws {
    let closed = try await closedPort()
    let table = Table([
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(1, closed, "a.example.org")]),
      "a.example.org a": Self.answer([try address("127.0.0.1"), try address("10.0.0.1")]),
      "a.example.org aaaa": .failure(.serverFailure),
    ])
    let failure = await #expect(throws: DialFailure.self) { try await dialer(table).dial("example.org", on: loop) }
    guard case .unreachable(let reasons)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(
      reasons.sorted() == [
        "a.example.org at 127.0.0.1 port \(closed): Connection refused", "a.example.org: 10.0.0.1 is not public",
        "a.example.org: \(LookupFailure.serverFailure)",
      ])
  }

  @Test func addressesThatAreNotPublicAreRefused() async throws {
    let listener = try await listen()
    let table = Table([
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(1, try port(listener), "a.example.org")]),
      "a.example.org a": Self.answer([try address("127.128.0.1")]),
      "a.example.org aaaa": Self.answer([try address("::1"), try address("::ffff:127.128.0.1")]),
    ])
    let failure = await #expect(throws: DialFailure.self) { try await dialer(table).dial("example.org", on: loop) }
    guard case .unreachable(let reasons)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(
      Set(reasons) == [
        "a.example.org: 127.128.0.1 is not public", "a.example.org: ::1 is not public",
        "a.example.org: ::ffff:127.128.0.1 is not public",
      ])
    try await listener.close().get()
  }

  @Test func aDialThatIsCancelledEnds() async throws {
    final class Silent: DNSResolver {
      let asked = AsyncStream.makeStream(of: Void.self)
      let hanging: Task<Void, Never>

      init(until end: AsyncStream<Void>) { hanging = Task { for await _ in end {} } }

      func lookUp(_ name: DomainName, _ type: RecordType) async throws(LookupFailure) -> Answer {
        asked.continuation.yield()
        await hanging.value
        throw .timedOut
      }

      func forget() {}
    }
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    let silent = Silent(until: stream)
    let dialer = Dialer(resolver: silent, addresses: PublicAddresses())
    let dialing = Task { try await dialer.dial("example.org", on: loop) }
    for await _ in silent.asked.stream { break }
    dialing.cancel()
    await #expect(throws: DialFailure.timedOut(reasons: ["it was cancelled"])) { try await dialing.value }
    end.finish()
  }

  // MARK: Names

  @Test func namesAreLookedUpAsALabels() async throws {
    let table = Table([:])
    await #expect(throws: DialFailure.noSuchDomain(isAuthentic: false)) {
      try await dialer(table).dial("bücher.example", on: loop)
    }
    #expect(
      table.questions.sorted() == [
        "_xmpp-server._tcp.xn--bcher-kva.example srv", "_xmpps-server._tcp.xn--bcher-kva.example srv",
        "xn--bcher-kva.example a", "xn--bcher-kva.example aaaa",
      ])
  }

  @Test func absenceMayBeAuthentic() async throws {
    let absent = Answer(.noSuchName, name: .root, isSecure: true, seconds: 60)
    let table = Table(["example.org a": .success(absent), "example.org aaaa": .success(absent)])
    await #expect(throws: DialFailure.noSuchDomain(isAuthentic: true)) {
      try await dialer(table).dial("example.org", on: loop)
    }
  }

  @Test func theDomainItselfIsTheLastResort() async throws {
    let table = Table(["example.org a": Self.answer([try address("10.0.0.1")])])
    let failure = await #expect(throws: DialFailure.self) { try await dialer(table).dial("example.org", on: loop) }
    #expect(
      failure
        == .unreachable(reasons: ["example.org: 10.0.0.1 is not public", "example.org has no IPv6 address"])
        || failure
          == .unreachable(reasons: ["example.org has no IPv6 address", "example.org: 10.0.0.1 is not public"])
    )
    let look = ServerLookUp(resolver: table, routes: [:])
    #expect(
      try await look.servers(of: "example.org")
        == .itself(
          .init(
            target: ServerTarget(name: "example.org", port: 5269, isDirectTLS: false),
            host: .name(#require(DomainName("example.org"))), priority: 0, isRoute: false)))
  }

  /// A domain that is to be reached must be in the DNS; streams may come from one that is not.
  @Test func aDomainWithoutServersAndAddressesIsNoneToReach() async throws {
    await #expect(throws: DialFailure.noSuchDomain(isAuthentic: false)) {
      try await dialer(Table([:])).existingTargets(of: "example.org")
    }
    let itself = ServerTarget(name: "example.org", port: 5269, isDirectTLS: false)
    #expect(try await dialer(Table([:])).targets(of: "example.org") == [itself])
    for answer in [Self.answer([try address("192.0.2.1")]), .failure(.timedOut)] {
      #expect(try await dialer(Table(["example.org a": answer])).existingTargets(of: "example.org") == [itself])
    }
    let record = Self.answer([Self.service(1, 5269, "a.example.org")])
    let served = Table(["_xmpp-server._tcp.example.org srv": record])
    #expect(try await dialer(served).existingTargets(of: "example.org").map(\.name) == ["a.example.org"])
  }

  @Test func theRootRefuses() async throws {
    let table = Table(["_xmpp-server._tcp.example.org srv": Self.answer([Self.service(0, 0, "")])])
    await #expect(throws: DialFailure.refused) { try await dialer(table).dial("example.org", on: loop) }
    #expect(try await dialer(table).targets(of: "example.org") == [])
  }

  /// RFC 7673 3.1: who can suppress an answer must not choose the server.
  @Test func aLookUpThatFailsIsNoAbsence() async throws {
    let table = Table([
      "_xmpps-server._tcp.example.org srv": .failure(.timedOut),
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(1, 5269, "a.example.org")]),
    ])
    await #expect(
      throws: DialFailure.unreachable(reasons: ["_xmpps-server._tcp.example.org: \(LookupFailure.timedOut)"])
    ) { try await dialer(table).dial("example.org", on: loop) }
  }

  @Test(arguments: ["192.0.2.1", "[2001:db8::1]", "a..b", "a b", String(repeating: "a", count: 64)])
  func noNameOfTheDNS(_ domain: String) async throws {
    let table = Table([:])
    await #expect(throws: DialFailure.noSuchDomain(isAuthentic: true)) {
      try await dialer(table).dial(domain, on: loop)
    }
    #expect(table.questions == [])
  }

  @Test func eightServersAreTried() async throws {
    let records = (0..<20).map { Self.service(UInt16($0), 5269, "h\($0).example.org") }
    let table = Table(["_xmpp-server._tcp.example.org srv": Self.answer(records)])
    let targets = try await dialer(table).targets(of: "example.org")
    #expect(targets.map(\.name) == (0..<8).map { "h\($0).example.org" })
  }

  // MARK: Routes

  @Test func aRouteStandsInPlaceOfTheDNS() async throws {
    let listener = try await listen()
    let route = ServerTarget(name: "127.0.0.1", port: try port(listener), isDirectTLS: true)
    let table = Table([:])
    let connection = try await dialer(table, routes: ["example.org": route]).dial("example.org", on: loop)
    #expect(connection.target == route)
    #expect(table.questions == [])
    try await connection.channel.close().get()
    try await listener.close().get()
  }

  @Test func aRouteMayLeadToAPrivateHost() async throws {
    let listener = try await listen()
    let route = ServerTarget(name: "xmpp.internal", port: try port(listener), isDirectTLS: false)
    // 127.128.0.1 is this machine, and not among the allowed networks.
    let table = Table(["xmpp.internal a": Self.answer([try address("127.128.0.1"), try address("127.0.0.1")])])
    let connection = try await dialer(table, routes: ["example.org": route]).dial("example.org", on: loop)
    #expect(connection.target == route)
    #expect(table.questions.sorted() == ["xmpp.internal a", "xmpp.internal aaaa"])
    try await connection.channel.close().get()
    try await listener.close().get()
  }

  // MARK: DANE

  private let record = TLSARecord(usage: 3, selector: 1, matching: 1, data: [7])

  private func signed(port: Int, tlsa: Result<Answer, LookupFailure>, isHostSecure: Bool = true) throws -> Table {
    Table([
      "_xmpps-server._tcp.example.org srv": .success(Answer(.noRecords, name: .root, isSecure: true, seconds: 60)),
      "_xmpp-server._tcp.example.org srv": Self.answer([Self.service(1, port, "a.example.org")], isSecure: true),
      "a.example.org a": Self.answer([try address("127.0.0.1")], isSecure: isHostSecure),
      "_\(port)._tcp.a.example.org tlsa": tlsa,
    ])
  }

  @Test func certificatesComeWithTheTarget() async throws {
    let listener = try await listen()
    let port = try port(listener)
    for (isSecure, records) in [(true, [record]), (false, [])] {
      let table = try signed(port: port, tlsa: Self.answer([.tlsa(record)], isSecure: isSecure))
      let connection = try await dialer(table).dial("example.org", on: loop)
      let target = ServerTarget(
        name: "a.example.org", port: port, isDirectTLS: false, isSecure: true, tlsa: records)
      #expect(connection.target == target)
      #expect(try await dialer(table).targets(of: "example.org") == [target])
      try await connection.channel.close().get()
    }
    try await listener.close().get()
  }

  @Test func aForgedCertificateRecordIsNoAbsence() async throws {
    let listener = try await listen()
    let port = try port(listener)
    let forged = try signed(port: port, tlsa: .failure(.serverFailure))
    await #expect(throws: DialFailure.self) { try await dialer(forged).dial("example.org", on: loop) }
    await #expect(
      throws: DialFailure.unreachable(reasons: ["a.example.org: \(LookupFailure.serverFailure)"])
    ) { try await dialer(forged).targets(of: "example.org") }
    // A host in a zone that is not signed has no such records, whatever its name servers do.
    let unsigned = try signed(port: port, tlsa: .failure(.serverFailure), isHostSecure: false)
    let connection = try await dialer(unsigned).dial("example.org", on: loop)
    #expect(connection.target.tlsa == [])
    #expect(try await dialer(unsigned).targets(of: "example.org") == [connection.target])
    try await connection.channel.close().get()
    try await listener.close().get()
  }
}
