import Addresses
import Basics
import Dialogs
import DialogsFixtures
import HTTPPort
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import ServerMetrics
import Synchronization
import Testing
import XMLStream
import XMPP

@testable import Peers
@testable import XMPPDoor

/// The bounds of federation that no single stream shows, with small numbers.
@Suite(.timeLimit(.minutes(1))) struct FederationLimitsTests {
  private func address(_ text: String) throws -> String {
    ClientAddress.network(try SocketAddress(ipAddress: text, port: 5269))
  }

  /// RFC 6120 13.12.
  @Test func unverifiedStreamsAreBoundedForAllAndForEachAddress() throws {
    var streams = NetworkShares(
      max: 4, perNetworkMax: 2, replacesOwn: true, ownAge: FederationLimits.unverifiedUndisturbed)
    let (one, other, third) = (try address("192.0.2.1"), try address("192.0.2.2"), try address("192.0.2.3"))
    let admitted = [one, one, one, other, third].map { streams.admit($0)?.id }
    #expect(admitted == [1, 2, nil, 3, 4])
    #expect(streams.count == 4)
    // At the bound of all, the address that has the most gives its oldest up; what was refused counts nothing.
    let newcomer = streams.admit(third)
    #expect(newcomer?.ended == 1)
    #expect(streams.count == 4 && streams.count(one) == 1)
    // Each end makes room.
    streams.release(3)
    let last = streams.admit(one)
    #expect(last?.id == 6 && last?.ended == nil)
  }

  /// One customer of a provider has a network of 64 bits at least (RFC 6177 2).
  @Test func aNetworkOfIPv6IsOneAddress() throws {
    var streams = NetworkShares(
      max: 10, perNetworkMax: 2, replacesOwn: true, ownAge: FederationLimits.unverifiedUndisturbed)
    let admitted = try ["2001:db8::1", "2001:db8::2:1", "2001:db8::ffff:3", "2001:db8:0:1::1"].map {
      streams.admit(try address($0))?.id
    }
    #expect(admitted == [1, 2, nil, 3])
  }

  private final class Opener {}

  @Test func soManyLinksOpenAtOnceAndTheOthersWaitInOrder() {
    let links = (0..<5).map { _ in Opener() }
    var slots = OpeningSlots<Opener>(max: 4, perZoneMax: 4)
    let granted = links.map { slots.request($0, of: "a.example", isKnown: false) }
    #expect(granted == [true, true, false, false, false])
    // One that gives up while it waits is passed over; its slot is nobody's.
    let next = [2, 0, 0, 3, 1, 4].map { ended in
      slots.end(links[ended]).flatMap { next in links.firstIndex { $0 === next } }
    }
    #expect(next == [nil, 3, nil, 4, nil, nil])
    let later = links.prefix(3).map { slots.request($0, of: "a.example", isKnown: false) }
    #expect(later == [true, true, false])
  }

  /// Whoever has many domains whose servers do not answer takes a few slots, and the next ones are those of other zones and of domains
  /// that are known here.
  @Test func aZoneTakesFewOfTheSlots() {
    let (evil, other, known) = ((0..<100).map { _ in Opener() }, [Opener(), Opener()], [Opener(), Opener()])
    var slots = OpeningSlots<Opener>(max: 8, perZoneMax: 2)
    let granted = evil.filter { slots.request($0, of: "evil.example", isKnown: false) }
    #expect(granted.count == 2)
    let others = other.map { slots.request($0, of: "mantua.example", isKnown: false) }
    #expect(others == [true, true])
    // All slots of domains that nobody here knows are taken.
    let next = Opener()
    let isGranted = slots.request(next, of: "padua.example", isKnown: false)
    let knownGranted = known.map { slots.request($0, of: "evil.example", isKnown: true) }
    #expect(!isGranted && knownGranted == [true, true])
    // The zone that came later is served before the rest of the first one.
    let served = slots.end(evil[0])
    #expect(served === next)
    let (hasSlot, isOver) = (slots.hasSlot(next), slots.hasSlot(evil[0]))
    #expect(hasSlot && !isOver && !slots.hasSlot(evil[2]))
    // One whose waiting has ended is passed over.
    let withdrawn = slots.end(evil[2])
    let following = slots.end(evil[1])
    #expect(withdrawn == nil && following === evil[3])
  }

  /// The notice of a slot comes late: meanwhile the link has given the slot back, and waits for another one.
  @Test func aSlotThatWasGivenBackOpensNothing() async throws {
    var limits = LinkLimits()
    limits.openingPerZone = 0
    let scripted = try await ScriptedFederation(limits: limits)
    let link = try scripted.link("mantua.example")
    let phase = await link.ask { driver in
      driver.handle(.owed)
      driver.slotGranted()
      return driver.machine.phase
    }
    #expect(phase == .queued)
    try await scripted.end()
  }

  @Test func linksOfTheZoneWithMostMakeRoom() {
    let (evil, other) = ((0..<5).map { _ in Opener() }, [Opener(), Opener(), Opener()])
    var spare = SpareLinks<Opener>()
    for link in evil { spare.note(link, of: "evil.example", .waiting) }
    for link in other { spare.note(link, of: "mantua.example", .waiting) }
    // One that opens its stream makes no room.
    spare.note(evil[0], of: "evil.example", .busy)
    let taken = spare.takeWaiting(3)
    let (isOfEvil, isBusy) = (
      taken.allSatisfy { link in evil.contains { $0 === link } }, taken.contains { $0 === evil[0] }
    )
    #expect(taken.count == 3 && isOfEvil && !isBusy)
    let rest = spare.takeWaiting(9)
    #expect(rest.count == 4)
    spare.note(other[1], of: "mantua.example", .idle)
    spare.note(other[0], of: "mantua.example", .idle)
    spare.note(other[2], of: "mantua.example", .idle)
    spare.note(other[0], of: "mantua.example", .busy)
    #expect(spare.idleCount == 2)
    let (first, second, third) = (spare.takeIdle(), spare.takeIdle(), spare.takeIdle())
    #expect(first === other[1] && second === other[2] && third == nil)
  }

  /// Links that only wait for a stream make room, and the stanzas fail that wait with them; one with rows stays.
  @Test func linksWithoutRowsMakeRoom() async throws {
    var limits = LinkLimits()
    // No link gets a slot to open a stream in.
    (limits.links, limits.openingPerZone, limits.retiredAtOnce) = (3, 0, 2)
    let scripted = try await ScriptedFederation(limits: limits)
    let romeo = try await scripted.user("romeo")
    let federation = scripted.federation
    let busy = try scripted.link("busy.example")
    await busy.ask { $0.handle(.owed) }
    let waiting = try ["a.evil.example", "b.evil.example"].map { try scripted.link($0) }
    for link in waiting {
      await link.ask { driver in
        let probe = RelayedStanza(
          name: .presence("probe"), from: romeo, fromResource: nil, to: link.party.address, toResource: nil, id: nil,
          extras: [])
        driver.send(.stanza(probe))
      }
      #expect(await link.ask { $0.machine.phase } == .queued)
    }
    // All links are in use: those that wait are asked for room.
    #expect(federation.link(of: DomainPair(local: "localhost", remote: "mantua.example")) == nil)
    for link in waiting { #expect(await link.ask { $0.machine.phase == .idle && $0.queue.isEmpty }) }
    #expect(federation.link(of: DomainPair(local: "localhost", remote: "mantua.example")) != nil)
    #expect(waiting.allSatisfy(\.isRetired) && !busy.isRetired)
    try await scripted.end()
  }

  /// Presence to many subdomains whose servers do not answer has a bound in all links together, and that of others has theirs.
  @Test func whatWaitsInAllLinksIsBoundedByAuthor() async throws {
    var limits = LinkLimits()
    // No link gets a slot to open a stream in.
    limits.openingPerZone = 0
    let waiting = WaitingBytes(ownerBytesMax: 100_000)
    var memory = SessionMemory()
    memory.links = waiting
    let scripted = try await ScriptedFederation(limits: limits, memory: memory)
    let links = try (0..<10).map { try scripted.link("s\($0).evil.example") }
    func waitingCount(of person: Party) async -> Int {
      let presence = Presence(
        from: person, resource: "orchard", availability: .online, extras: [UInt8](repeating: 0x20, count: 30_000),
        time: Timestamp(milliseconds: 0))
      let before = waiting.bytes
      for link in links { await link.ask { $0.send(.presence(presence, to: link.party.address)) } }
      return (waiting.bytes - before) / 30_000
    }
    for name in ["romeo", "juliet"] {
      let person = try await scripted.user(name)
      #expect(await waitingCount(of: person) == 3)
    }
    for link in links { await link.ask { $0.handle(.yield) } }
    #expect(waiting.bytes == 0)
    try await scripted.end()
  }

  /// What has waited for a stream is written in pieces, between which the loop serves others, and before the message behind it.
  @Test func whatHasWaitedForAStreamIsWrittenInPieces() async throws {
    var limits = LinkLimits()
    // No link gets a slot to open a stream in.
    limits.openingPerZone = 0
    let scripted = try await ScriptedFederation(limits: limits)
    let (romeo, link) = (try await scripted.user("romeo"), try scripted.link("mantua.example"))
    let presence = Presence(
      from: romeo, resource: "orchard", availability: .online, time: Timestamp(milliseconds: 0))
    let addresses = try (0..<2 * FederationLimits.liveAtOnce + 50).map { number in
      try #require(BareJID(parsing: "p\(number)@mantua.example"))
    }
    await link.ask { $0.receive(.signal(.shown(presence, to: addresses), .direct)) }
    try await scripted.parley.post(
      .message(
        MessageDraft(
          to: try #require(BareJID(parsing: "balthasar@mantua.example")), content: Content(kind: .text, text: "Hail."),
          envelope: Envelope(type: .chat), traits: [.archived], key: nil)), by: romeo)
    let peer = await ScriptedStream.open(link)
    for number in addresses.indices { #expect(await peer.next()?.contains("p\(number)@") == true) }
    #expect(await peer.next()?.contains("Hail.") == true)
    let most = await link.ask { _ in (peer.handle.stream as? ScriptedStream)?.mostAtOnce }
    #expect(most == FederationLimits.liveAtOnce)
    #expect(await link.ask { $0.queue.isEmpty })
    try await scripted.end()
  }

  @Test func aLinkThatWasIdleLongestMakesRoom() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let side = ServerSide("localhost", network, place: try #require(listener.mounted.first))
    var limits = LinkLimits()
    (limits.links, limits.retiredAtOnce) = (3, 1)
    let federation = Federation(
      listener, options: FederationOptions(),
      policy: DomainPolicy(FederationOptions(), clock: network.door.parley.clock), servers: side.streams,
      limits: limits)
    func link(_ remote: String) -> FederationLink? {
      federation.link(of: DomainPair(local: "localhost", remote: remote))
    }
    let links = try ["a.example", "b.example", "c.example"].map { try #require(link($0)) }
    // All are in use: the next domain gets none, and those that exist are found.
    #expect(link("d.example") == nil)
    #expect(link("a.example") === links[0])
    links[1].note(.idle)
    links[0].note(.idle)
    #expect(link("d.example") != nil)
    #expect(links.map(\.isRetired) == [false, true, false])
    // The one that was forgotten is made anew when somebody uses it again.
    #expect(link("b.example").map { $0 !== links[1] } == true)
    #expect(links.map(\.isRetired) == [true, true, false])
    await listener.stopAccepting()
    try await network.end()
  }

  @Test func soManyServersOfADomainAreTried() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let dialing = Useless(network.group)
    let streams = ServerStreams(
      door: network.door, mounted: [place], domains: ["localhost"], secret: [1], idleSeconds: 60,
      trust: SideTrust("capulet.example", network), dialing: dialing,
      rules: DomainPolicy(FederationOptions(), clock: network.door.parley.clock))
    let owner = StreamRecorder()
    streams.open(DomainPair(local: "localhost", remote: "mantua.example"), on: place, for: owner) {
      owner.record(.failed($0))
    }
    guard case .failed(let failure)? = await owner.next() else { throw Missing() }
    #expect(!failure.isFinal)
    #expect(dialing.excluded.withLock { $0 } == (0..<FederationStreamLimits.serversTriedMax).map { $0 })
    try await dialing.end()
    try await network.end()
  }

  private struct Missing: Error {}

  /// A domain with more servers than anybody tries, which all close each connection.
  private final class Useless: ServerDialing {
    /// The number of servers that were left out at each attempt.
    let excluded = Locked<[Int]>([])
    private let group: any EventLoopGroup
    private let port = Locked<(any Channel)?>(nil)

    init(_ group: any EventLoopGroup) { self.group = group }

    func dial(
      _ domain: String, on loop: any EventLoop, excluding: [ServerTarget]
    ) async throws(DialFailure) -> DialedConnection {
      excluded.withLock { $0.append(excluding.count) }
      do {
        let port = try await listen()
        let channel = try await ClientBootstrap(group: loop).channelOption(.autoRead, value: false)
          .connect(host: "127.0.0.1", port: port).get()
        let target = ServerTarget(name: "server\(excluding.count).example", port: port, isDirectTLS: false)
        return DialedConnection(channel: channel, target: target)
      } catch {
        throw .unreachable(reasons: ["\(error)"])
      }
    }

    private func listen() async throws -> Int {
      if let port = port.withLock({ $0?.localAddress?.port }) { return port }
      let channel = try await ServerBootstrap(group: group).childChannelInitializer { $0.close() }
        .bind(host: "127.0.0.1", port: 0).get()
      port.withLock { $0 = channel }
      return try #require(channel.localAddress?.port)
    }

    func targets(of domain: String) async throws(DialFailure) -> [ServerTarget] { [] }
    func existingTargets(of domain: String) async throws(DialFailure) -> [ServerTarget] { [] }
    func forget() {}
    func end() async throws { try await port.withLock { $0 }?.close().get() }
  }

  @Test func theReasonsOfSoManyRefusalsAreRemembered() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("localhost", network, place: try await network.place())
    let most = FederationStreamLimits.refusalsMax
    func refused(_ domain: String, _ reason: String = "why", by network: String = "192.0.2.1") {
      side.streams.refused(domain, of: network, peer: network, reason: reason)
    }
    for number in 0..<most { refused("d\(number).example") }
    // Another refusal of the same domain takes no place.
    refused("d1.example", "again")
    #expect(side.streams.lastRefusal(of: "d0.example") == "why")
    refused("new.example")
    #expect(side.streams.lastRefusal(of: "d0.example") == nil)
    #expect(side.streams.lastRefusal(of: "d1.example") == "again")
    #expect(side.streams.lastRefusal(of: "d2.example") == "why")
    #expect(side.streams.lastRefusal(of: "new.example") == "why")
    // A network that names other domains without end pushes out what it has named itself.
    refused("capulet.example", "the certificate is old", by: "198.51.100.7")
    refused("capulet.example", "forged")
    #expect(side.streams.lastRefusal(of: "capulet.example") == "forged")
    for number in 0..<most { refused("e\(number).example") }
    #expect(side.streams.lastRefusal(of: "capulet.example") == "the certificate is old")
    side.streams.cameIn(from: "capulet.example")
    #expect(side.streams.lastRefusal(of: "capulet.example") == nil)
    try await network.end()
  }

  /// The lines at the level `info`, by their peer.
  private struct PeerLog: LogHandler {
    let peers: Locked<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      if event.level == .info, let peer = event.metadata?["peer"] { peers.withLock { $0.append("\(peer)") } }
    }
  }

  /// A network that is refused without end fills neither the log nor hides the lines about others in it.
  @Test func linesAboutRefusedStreamsHaveAPace() async throws {
    let peers = Locked<[String]>([])
    let network = try ServerNetwork(logger: Logger(label: "test") { _ in PeerLog(peers: peers) })
    let side = ServerSide("localhost", network, place: try await network.place())
    for number in 0..<1_000 {
      side.streams.refused("d\(number).example", of: "192.0.2.1", peer: "192.0.2.1", reason: "why")
    }
    side.streams.refused("capulet.example", of: "198.51.100.7", peer: "198.51.100.7", reason: "why")
    let own = Array(repeating: "192.0.2.1", count: FederationStreamLimits.refusalLinesOfNetworkMax)
    #expect(peers.withLock { $0 } == own + ["198.51.100.7"])
    for number in 0..<1_000 {
      side.streams.refused("capulet.example", of: "n\(number)", peer: "n\(number)", reason: "why")
    }
    #expect(peers.withLock { $0.count } == FederationStreamLimits.refusalLinesMax)
    try await network.end()
  }

  /// Whoever has a zone has no more streams by many subdomains.
  @Test func streamsOfOneZoneAreBounded() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("localhost", network, place: try await network.place())
    func isDenied(_ domain: String) async -> Bool {
      if case .denied(let error) = await side.streams.judge([], of: domain, at: nil).judgement {
        return error.condition == .resourceConstraint
      }
      return false
    }
    for number in 0..<FederationLimits.streamsPerZoneMax { side.streams.cameIn(from: "s\(number).flood.example") }
    #expect(await isDenied("next.flood.example"))
    #expect(await !isDenied("capulet.example"))
    side.streams.went("s7.flood.example")
    #expect(await !isDenied("next.flood.example"))
    try await network.end()
  }

  /// XEP-0489.
  @Test func soManyPeopleAreRememberedAsAnonymous() async throws {
    let scripted = try await ScriptedFederation()
    let most = FederationLimits.anonymousMax
    let people = try (0...most).map { try #require(BareJID(parsing: "p\($0)@mantua.example")) }
    for person in people.dropLast() { scripted.federation.note(person, isAnonymous: true) }
    #expect(people.dropLast().allSatisfy(scripted.federation.isAnonymous))
    scripted.federation.note(people[most], isAnonymous: true)
    #expect(people.filter(scripted.federation.isAnonymous) == [people[most]])
    // Those who were forgotten are known again with their next message.
    scripted.federation.note(people[0], isAnonymous: true)
    #expect(scripted.federation.isAnonymous(people[0]))
    try await scripted.end()
  }

  // MARK: What is under way

  /// Two realms of one process: rows wait, and live stanzas do not wait without a bound.
  @Test func soManyStanzasAreUnderWayBetweenTwoRealms() async throws {
    let scripted = try await ScriptedFederation()
    let receiving = try scripted.link("mantua.example")
    let (near, far) = (DomainPair(local: "mantua.example", remote: "localhost"), receiving.pair)
    let owner = StreamRecorder()
    owner.holdBack()
    LoopbackOpener { _ in receiving }.open(near, on: receiving.mounted, for: owner) { owner.record(.failed($0)) }
    #expect(await owner.next() == .opened(far, mayWrite: false, isCertified: false))
    #expect(await owner.next() == .opened(near, mayWrite: true, isCertified: false))
    let sender = try #require(owner.last)
    func say(_ count: Int) async throws -> Bool? {
      for _ in 0..<count {
        #expect(try await sender.say("hail", from: "a@mantua.example", to: "b@localhost"))
        #expect(await owner.next() == .received("hail", of: far))
      }
      return try await sender.loop.submit { sender.stream?.isWritable }.get()
    }
    let most = FederationLimits.loopbackStanzasMax
    // What the other end would not read is not sent.
    let large = Array("<message>\(String(repeating: "<x a=''/>", count: 8_100))</message>".utf8)
    let isWritten = try await sender.loop.submit { sender.stream?.write { $0.raw(large) } }.get()
    #expect(isWritten == false)
    #expect(try await say(most - 1) == true)
    #expect(try await say(1) == false)
    #expect(try await say(most - 1) == false)
    _ = try await sender.say("hail", from: "a@mantua.example", to: "b@localhost")
    var ends: [StreamRecorder.Event?] = []
    while ends.count < 2 {
      let event = await owner.next()
      if event != .received("hail", of: far) { ends.append(event) }
    }
    #expect(ends == [.closed([near]), .closed([far])])
    try await scripted.end()
  }

  /// At the stop of the server: who takes nothing is waited for only so long.
  @Test func streamsHaveSoLongToHandOverWhatIsWritten() async throws {
    let scripted = try await ScriptedFederation(limits: LinkLimits(drain: .milliseconds(1)))
    let (romeo, link) = (try await scripted.user("romeo"), try scripted.link("mantua.example"))
    let peer = await ScriptedStream.open(link)
    try await scripted.parley.post(
      .message(
        MessageDraft(
          to: try #require(BareJID(parsing: "balthasar@mantua.example")), content: Content(kind: .text, text: "Dead?"),
          envelope: Envelope(type: .chat), traits: [.archived], key: nil)), by: romeo)
    #expect(await peer.next { $0.contains("Dead?") } != nil)
    await scripted.federation.stop()
    #expect(await peer.next() == "closed: system-shutdown")
    // What nobody took is sent after the next start.
    #expect(await link.ask { $0.ledger.count } == 1)
    try await scripted.end()
  }

  /// A page of rows is under way while the next is read, and no more until the other server takes some.
  @Test func soManyRowsAreUnderWayOnOneStream() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let peer = await ScriptedStream.open(link)
    let most = FederationLimits.rowsUntakenMax
    let to = try #require(BareJID(parsing: "balthasar@mantua.example"))
    // More than one author, as the outbox has so many rows of each.
    try await withThrowingTaskGroup { group in
      for name in ["romeo", "juliet"] {
        let author = try await scripted.user(name)
        for _ in 0..<most / 2 + 5 {
          group.addTask {
            _ = try await scripted.parley.post(
              .message(
                MessageDraft(
                  to: to, content: Content(kind: .text, text: "Hail."), envelope: Envelope(type: .chat),
                  traits: [.archived], key: nil)), by: author)
          }
        }
      }
      try await group.waitForAll()
    }
    for _ in 0..<most { #expect(await peer.next { $0.contains("<body>") } != nil) }
    #expect(await link.ask { $0.ledger.count } == most)
    peer.acknowledge(10)
    for _ in 0..<10 { #expect(await peer.next { $0.contains("<body>") } != nil) }
    #expect(await link.ask { $0.ledger.count } == most)
    try await scripted.end()
  }

  /// A link is not read while so many posts of it wait for their commit.
  @Test func soManyPostsOfALinkWait() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let author = Party(remote: try #require(BareJID(parsing: "a@mantua.example")), realm: link.realm)
    let to = try #require(BareJID(parsing: "nobody@localhost"))
    let isFull = await link.ask { driver in
      guard let work = driver.work, let stanza = StanzaBytes.stanza({ $0.raw(Array("<presence type='error'/>".utf8)) })
      else { return [Bool]() }
      return (0..<DoorLimits.postsInFlightMax).map { _ in
        work.post(.subscription(.unsubscribed, to: to, stanza: nil), by: author, for: stanza)
        return work.isFull
      }
    }
    #expect(isFull.count == DoorLimits.postsInFlightMax && isFull.firstIndex(of: true) == isFull.count - 1)
    // When they are committed there is room again.
    try await scripted.parley.work { _ in }
    while await link.ask({ $0.work?.isFull == true }) {}
    try await scripted.end()
  }

  /// A backend that answers when the test says so.
  private final class Backend: BeforeSendHook, ContentRewriting {
    private let answers: AsyncStream<BeforeSendAnswer>
    let say: AsyncStream<BeforeSendAnswer>.Continuation
    init() { (answers, say) = AsyncStream.makeStream() }

    func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
      for await answer in answers { return answer }
      return .none
    }
    func noteUnasked() {}
    func shown(_ content: Content) -> Content? { content.kind == .none ? nil : content }
    func extras(_ extras: [UInt8], saying text: String) -> [UInt8] { extras }
  }

  /// Returns servers that ask a backend about each message, and a link between them.
  private func asking(
    _ backend: Backend, bytesMax: Int = Limits.beforeSendBytesMax
  ) async throws -> (ScriptedFederation, FederationLink) {
    let policy = BeforeSendPolicy(
      passesUnanswered: true, passesEncrypted: true, patience: .seconds(60), bytesMax: bytesMax)
    let scripted = try await ScriptedFederation(
      beforeSend: BeforeSendOptions(policy: policy, beforeSend: backend, rewriting: backend))
    return (scripted, try scripted.link("mantua.example"))
  }

  private static func hail(_ to: BareJID) -> MessageDraft {
    MessageDraft(
      to: to, content: Content(kind: .text, text: "Hail."), envelope: Envelope(type: .chat), traits: [.archived],
      key: nil)
  }

  /// While a backend is asked about one person's message, the outcomes of what another has sent by the same link come first.
  /// Each is that of its own stanza, and the message is not acknowledged before it is committed.
  @Test func anOutcomeIsThatOfItsOwnStanza() async throws {
    let backend = Backend()
    let (scripted, link) = try await asking(backend)
    let juliet = try await scripted.user("juliet").address
    let asked = Party(remote: try #require(BareJID(parsing: "a@mantua.example")), realm: link.realm)
    let other = Party(remote: try #require(BareJID(parsing: "b@mantua.example")), realm: link.realm)
    let (heard, note) = AsyncStream<String>.makeStream()
    await link.ask { driver in
      guard let work = driver.work, let stanza = StanzaBytes.stanza({ $0.raw(Array("<presence type='error'/>".utf8)) })
      else { return note.finish() }
      work.post(.message(Self.hail(juliet)), by: asked, for: stanza) { _ in note.yield("message") }
      work.afterPosts { note.yield("acknowledged") }
      work.post(.subscription(.unsubscribed, to: juliet, stanza: nil), by: other, for: stanza) { _ in
        note.yield("other")
      }
    }
    var texts = heard.makeAsyncIterator()
    #expect(await texts.next() == "other")
    backend.say.yield(.allow)
    #expect(await texts.next() == "message")
    #expect(await texts.next() == "acknowledged")
    #expect(await link.ask { $0.work?.isPosting } == false)
    try await scripted.end()
  }

  /// While a backend is asked about one person's message, the domain's stream is read on: others' stanzas pass, until as
  /// many wait as may. None is refused, and nothing is acknowledged before the message is committed.
  @Test func othersOfADomainDoNotWaitForABackend() async throws {
    let backend = Backend()
    let (scripted, link) = try await asking(backend)
    let juliet = try await scripted.user("juliet").address
    let asked = Party(remote: try #require(BareJID(parsing: "a@mantua.example")), realm: link.realm)
    let other = Party(remote: try #require(BareJID(parsing: "b@mantua.example")), realm: link.realm)
    let (heard, note) = AsyncStream<String>.makeStream()
    let seen = await link.ask { driver -> String in
      guard let work = driver.work, let stanza = StanzaBytes.stanza({ $0.raw(Array("<presence type='error'/>".utf8)) })
      else {
        note.finish()
        return "no work"
      }
      work.post(.message(Self.hail(juliet)), by: asked, for: stanza) { _ in note.yield("message") }
      work.afterPosts(of: asked.id) { note.yield("behind") }
      func post(_ count: Int, by author: Party) {
        for _ in 0..<count {
          work.post(.subscription(.unsubscribed, to: juliet, stanza: nil), by: author, for: stanza) { result in
            if case .failure(let problem) = result, problem.code == Problem.overloaded.code { note.yield("refused") }
          }
        }
      }
      let others = 2 * DoorLimits.postsInFlightMax
      post(others, by: other)
      work.afterPosts(of: other.id) { note.yield("other") }
      post(DoorLimits.linkWaitingMax - others - 2, by: asked)
      let before = work.isFull
      post(1, by: asked)
      work.afterPosts(of: asked.id) { note.yield("last") }
      work.afterPosts { note.yield("acknowledged") }
      return "full before: \(before), after: \(work.isFull)"
    }
    #expect(seen == "full before: false, after: true")
    var texts = heard.makeAsyncIterator()
    #expect(await texts.next() == "other")
    #expect(await link.ask { $0.work?.isFull } == false)
    backend.say.yield(.allow)
    for text in ["message", "behind", "last", "acknowledged"] { #expect(await texts.next() == text) }
    #expect(await link.ask { $0.work?.isPosting } == false)
    #expect(await link.ask { $0.work?.isPosting(by: asked.id) } == false)
    try await scripted.end()
  }

  /// The same of somebody in a room here, whose messages are not acknowledged before they are committed either.
  @Test func othersOfADomainDoNotWaitForAnOccupant() async throws {
    let backend = Backend()
    let (scripted, link) = try await asking(backend)
    let juliet = try await scripted.user("juliet").address
    let address = try #require(FullJID(parsing: "a@mantua.example/x"))
    let asked = Party(remote: address.bare, realm: link.realm)
    let (heard, note) = AsyncStream<String>.makeStream()
    let seen = await link.ask { driver -> [Bool]? in
      guard let work = driver.work else { return nil }
      let resident = work.residents.settle(asked, at: address, by: link)
      var seen: [Bool] = []
      resident.post(.message(Self.hail(juliet)), numbered: true) { _ in note.yield("message") }
      work.afterAll { note.yield("acknowledged") }
      for _ in 0..<DoorLimits.postsInFlightMax {
        resident.post(.subscription(.unsubscribed, to: juliet, stanza: nil), then: nil)
      }
      seen += [work.isFull, resident.hasTooMuchWaiting]
      while !resident.hasTooMuchWaiting, seen.count < DoorLimits.linkWaitingMax {
        resident.post(.subscription(.unsubscribed, to: juliet, stanza: nil), then: nil)
        seen.append(work.isFull)
      }
      return seen
    }
    // The link is read until the bound, and not at it.
    #expect(seen?.count == 2 + DoorLimits.linkWaitingMax / 2 - DoorLimits.postsInFlightMax - 1)
    #expect(seen?.dropLast().contains(true) == false)
    #expect(seen?.last == true)
    backend.say.yield(.allow)
    var texts = heard.makeAsyncIterator()
    for text in ["message", "acknowledged"] { #expect(await texts.next() == text) }
    while await link.ask({ $0.work?.residents[address]?.isPosting == true }) {}
    #expect(await link.ask { $0.work?.isFull } == false)
    try await scripted.end()
  }

  /// The post of an occupant who is gone meanwhile is not acknowledged before it is committed, nor does it hold up acknowledgements
  /// for longer.
  @Test func acknowledgementsWaitForWhatAnOccupantHasSentWhoIsGone() async throws {
    let backend = Backend()
    let (scripted, link) = try await asking(backend)
    let juliet = try await scripted.user("juliet").address
    let address = try #require(FullJID(parsing: "a@mantua.example/x"))
    let asked = Party(remote: address.bare, realm: link.realm)
    let (heard, note) = AsyncStream<String>.makeStream()
    await link.ask { driver in
      guard let work = driver.work else { return note.finish() }
      work.residents.settle(asked, at: address, by: link).post(.message(Self.hail(juliet)), numbered: true, then: nil)
      work.afterAll { note.yield("acknowledged") }
      work.residents.end()
      note.yield("gone")
    }
    var texts = heard.makeAsyncIterator()
    #expect(await texts.next() == "gone")
    // What others have posted is committed before.
    try await scripted.parley.work { _ in }
    await link.ask { _ in _ = note.yield("asked") }
    #expect(await texts.next() == "asked")
    backend.say.yield(.allow)
    #expect(await texts.next() == "acknowledged")
    try await scripted.end()
  }

  /// What an occupant who is gone has sent, and has found no room, is committed all the same, and before it is acknowledged.
  @Test func whatAnOccupantWhoIsGoneHasSentIsNotLost() async throws {
    let backend = Backend()
    // One message that waits is more than an author may have, an eighth of this.
    let (scripted, link) = try await asking(backend, bytesMax: 8)
    let juliet = try await scripted.user("juliet")
    let address = try #require(FullJID(parsing: "a@mantua.example/x"))
    let asked = Party(remote: address.bare, realm: link.realm)
    let (heard, note) = AsyncStream<String>.makeStream()
    await link.ask { driver in
      guard let work = driver.work else { return note.finish() }
      let resident = work.residents.settle(asked, at: address, by: link)
      for _ in 0..<3 { resident.post(.message(Self.hail(juliet.address)), numbered: true, then: nil) }
      work.afterAll { note.yield("acknowledged") }
      work.residents.end()
    }
    for _ in 0..<3 { backend.say.yield(.allow) }
    for await _ in heard { break }
    let realm = link.realm
    let count = try await scripted.parley.read { reader -> Int in
      guard let author = try reader.user(address.bare, seenFrom: realm),
        let dialog = try reader.dialog(between: author.party.id, and: juliet.id),
        let messages = dialog.messages(for: juliet.id)
      else { return 0 }
      return try reader.history(of: messages, after: .zero, before: .end, limit: 9, ascending: true).count
    }
    #expect(count == 3)
    try await scripted.end()
  }

  /// That a message was returned is stored before the stanza that says so is acknowledged.
  @Test func aReturnedMessageIsAcknowledgedWhenItIsReported() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let peer = await ScriptedStream.open(link)
    let juliet = try await scripted.user("juliet").address
    let text =
      "<message type='error' id='1' from='a@mantua.example' to='\(juliet)'><error type='cancel'>"
      + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
    let (heard, note) = AsyncStream<String>.makeStream()
    await link.ask { driver in
      guard let work = driver.work, let stanza = StanzaBytes.stanza({ $0.raw(Array(text.utf8)) }),
        ReturnedMessage(stanza, in: link.realm) != nil
      else { return note.finish() }
      driver.received(stanza, on: peer.handle)
      work.afterAll { note.yield("acknowledged") }
      note.yield("read")
    }
    var texts = heard.makeAsyncIterator()
    for text in ["read", "acknowledged"] { #expect(await texts.next() == text) }
    try await scripted.end()
  }

  /// What waits behind a post runs before further stanzas are read, which would overtake it.
  @Test func nothingIsReadBeforeWhatWaitsBehindAPost() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let juliet = try await scripted.user("juliet").address
    let author = Party(remote: try #require(BareJID(parsing: "a@mantua.example")), realm: link.realm)
    let seen = await link.ask { _ -> [String] in
      guard let stanza = StanzaBytes.stanza({ $0.raw(Array("<presence type='error'/>".utf8)) }) else { return [] }
      var seen: [String] = []
      let work = LinkWork(link) { seen.append("read") }
      work.post(.subscription(.unsubscribed, to: juliet, stanza: nil), by: author, for: stanza) { _ in
        seen.append("posted")
      }
      for name in ["first", "second"] {
        work.afterPosts(of: author.id) {
          work.paused()
          work.unpaused()
          seen.append(name)
        }
      }
      work.settled(TakenRows.token + 1, .failure(Problem.overloaded))
      return seen
    }
    #expect(seen == ["posted", "first", "second", "read"])
    try await scripted.end()
  }

  /// A link of a zone with too many posts under way is read on when its own last one is done, also where no acknowledgement waits for
  /// that. A link that ends takes its posts out of the count.
  @Test func aLinkOfAFullZoneIsReadOnWhenItsOwnPostsAreDone() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let posts = ZonePosts()
    posts.count(FederationLimits.postsPerZoneMax - 1, of: "mantua.example")
    let seen = await link.ask { _ -> [Bool] in
      var isReadOn = false
      let work = LinkWork(link, of: (domain: "mantua.example", posts: posts)) { isReadOn = true }
      let held = work.hold()
      let wasFull = work.isFull
      work.release(held)
      _ = LinkWork(link, of: (domain: "mantua.example", posts: posts)) {}.hold()
      return [wasFull, isReadOn, posts.isFull("mantua.example", ofLink: 1, isKnown: false)]
    }
    #expect(seen == [true, true, false])
    try await scripted.end()
  }

  /// A link that was forgotten meanwhile keeps the outcomes of its posts: another link would take them for those of its own.
  @Test func aForgottenLinkKeepsItsOutcomes() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let author = Party(remote: try #require(BareJID(parsing: "a@mantua.example")), realm: link.realm)
    let to = try #require(BareJID(parsing: "nobody@localhost"))
    let (heard, note) = AsyncStream<String>.makeStream()
    await link.ask { driver in
      guard let work = driver.work, let stanza = StanzaBytes.stanza({ $0.raw(Array("<presence type='error'/>".utf8)) })
      else { return note.finish() }
      work.post(.subscription(.unsubscribed, to: to, stanza: nil), by: author, for: stanza) { _ in note.yield("own") }
      #expect(driver.isIdle)
      link.retire()
    }
    var outcomes = heard.makeAsyncIterator()
    #expect(await outcomes.next() == "own")
    try await scripted.end()
  }

  private final class Counting: RemoteConnection {
    var count = 0
    override func received(_ event: consuming ReaderEvent) {
      guard case .element = event else { return }
      count += 1
      countElement()
    }
  }

  /// What the streams of a loop share, in a time that does not pass.
  private static func context(_ loop: any EventLoop) -> LoopContext {
    LoopContext(loop: loop, Metrics(), now: { [now = ContinuousClock.now] in now })
  }

  /// A read is handled in pieces, between which others are served. What is read beyond the burst makes a debt, which is paid off with
  /// time.
  @Test func soManyStanzasAreReadAtOnceAndInTime() throws {
    let network = try ServerNetwork()
    let clock = try #require(network.door.parley.clock as? HandClock)
    let loop = EmbeddedEventLoop()
    let channel = EmbeddedChannel(loop: loop)
    let connection = Counting(
      door: network.door, loopContext: Self.context(loop), peer: "test", contentNamespace: NS.server,
      unreadBytesMax: 1)
    try channel.pipeline.syncOperations.addHandler(connection)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5269)).wait()
    let burst = Limits.sendingDomainStanzas.burst
    let many = String(repeating: "<message/>", count: burst + 302)
    try channel.writeInbound(ByteBuffer(string: RawServer.header() + many))
    // The header counts with the first piece.
    #expect(connection.count == DoorLimits.elementsAtOnce - 1)
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(connection.count == 2 * DoorLimits.elementsAtOnce - 1)
    for _ in 0..<burst / DoorLimits.elementsAtOnce { loop.advanceTime(by: DoorLimits.fanOutPause) }
    #expect(connection.count == burst + 1)
    // A tenth of a second's worth, of which one pays off the debt and another is owed again.
    var now = clock.now.milliseconds
    for count in [burst + 201, burst + 302] {
      now += 100
      clock.set(now)
      loop.advanceTime(by: .milliseconds(101))
      #expect(connection.count == count)
    }
    _ = try? channel.finish()
    network.group.shutdownGracefully { _ in }
  }

  private final class Working: RemoteConnection {
    var count = 0
    /// What each element takes.
    var work: () -> Void = {}
    override func received(_ event: consuming ReaderEvent) {
      guard case .element = event else { return }
      count += 1
      work()
    }
  }

  /// All connections of a loop together have a bound of its time; whoever comes then waits for a turn.
  @Test func connectionsShareTheTurnsOfTheirLoop() throws {
    final class Time: Sendable { let now = Mutex(ContinuousClock.now) }
    let network = try ServerNetwork()
    let (loop, time) = (EmbeddedEventLoop(), Time())
    let loopContext = LoopContext(loop: loop, Metrics(), now: { time.now.withLock { $0 } })
    func connection(_ peer: String) throws -> (EmbeddedChannel, Working) {
      let channel = EmbeddedChannel(loop: loop)
      let connection = Working(
        door: network.door, loopContext: loopContext, peer: peer, contentNamespace: NS.server, unreadBytesMax: 1)
      // Two looks at the clock are half of a turn.
      connection.work = { time.now.withLock { $0 += Limits.laneTurnTime / (2 * Limits.laneTurnStep) } }
      try channel.pipeline.syncOperations.addHandler(connection)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5269)).wait()
      return (channel, connection)
    }
    func send(_ count: Int, to channel: EmbeddedChannel) throws {
      try channel.writeInbound(ByteBuffer(string: RawServer.header() + String(repeating: "<message/>", count: count)))
    }
    let (many, few) = (try connection("192.0.2.1"), try connection("192.0.2.2"))
    try send(200, to: many.0)
    // The header counts, too, and takes no time. The first look begins the turn.
    #expect(many.1.count == 3 * Limits.laneTurnStep - 1)
    try send(10, to: few.0)
    #expect(few.1.count == 0)
    // The first slice is used up as well, and in the next one it is the other's turn.
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(many.1.count == 5 * Limits.laneTurnStep - 1 && few.1.count == 0)
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(few.1.count == 0)
    loop.advanceTime(by: DoorLimits.turnPause)
    #expect(many.1.count == 200 && few.1.count == 10)
    for channel in [many.0, few.0] { _ = try? channel.finish() }
    network.group.shutdownGracefully { _ in }
  }

  private final class Answering: RemoteConnection {
    var count = 0
    override func received(_ event: consuming ReaderEvent) {
      guard case .element = event else { return }
      count += 1
      append { $0.raw(ByteBuffer(repeating: 0x20, count: DoorLimits.gatheredBytesMax + 1)) }
    }
  }

  /// However many stanzas one read holds, a large answer is sent before the next one is written, and the peer has to take it.
  @Test func oneLargeAnswerIsWrittenAtATime() throws {
    let network = try ServerNetwork()
    let loop = EmbeddedEventLoop()
    let channel = EmbeddedChannel(loop: loop)
    let connection = Answering(
      door: network.door, loopContext: Self.context(loop), peer: "test", contentNamespace: NS.server,
      unreadBytesMax: 1 << 20)
    try channel.pipeline.syncOperations.addHandler(connection)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5269)).wait()
    func writes() throws -> Int {
      var count = 0
      while try channel.readOutbound(as: ByteBuffer.self) != nil { count += 1 }
      return count
    }
    try channel.writeInbound(ByteBuffer(string: RawServer.header() + String(repeating: "<message/>", count: 4)))
    #expect(connection.count == 1)
    #expect(try writes() == 1)
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(connection.count == 2)
    #expect(try writes() == 1)
    channel.isWritable = false
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(connection.count == 2)
    channel.isWritable = true
    channel.pipeline.fireChannelWritabilityChanged()
    #expect(connection.count == 3)
    #expect(try writes() == 1)
    // What is left is not processed when the connection has ended.
    _ = try? channel.finish()
    loop.advanceTime(by: DoorLimits.fanOutPause)
    #expect(connection.count == 3)
    network.group.shutdownGracefully { _ in }
  }

  /// Whoever takes the certificate out of a stream does not take the domain's place.
  @Test func aCertificateIsRememberedForThirtyDays() {
    var options = FederationOptions()
    options.verification = .dialback
    let clock = HandClock()
    let policy = DomainPolicy(options, clock: clock)
    #expect(policy.believesDialback(of: "mantua.example"))
    // It is news once a day.
    let pair = DomainPair(local: "verona.example", remote: "mantua.example")
    func isNews(at time: Timestamp, isKnown: Bool = true) -> Bool {
      policy.verified(pair, at: time, isKnown: isKnown).isNews
    }
    // With which nobody here has to do, it is remembered and not stored.
    #expect(!isNews(at: clock.now, isKnown: false))
    #expect(!policy.believesDialback(of: "mantua.example"))
    #expect(isNews(at: clock.now))
    #expect(!isNews(at: clock.now + (PeerLimits.certificateNoted - .milliseconds(1))))
    #expect(!policy.believesDialback(of: "mantua.example"))
    #expect(policy.believesDialback(of: "padua.example"))
    clock.set(clock.now.milliseconds + 30 * 86_400_000 - 1)
    #expect(!policy.believesDialback(of: "mantua.example"))
    clock.set(clock.now.milliseconds + 1)
    #expect(policy.believesDialback(of: "mantua.example"))
    // A known domain stays one.
    #expect(isNews(at: clock.now, isKnown: false))
  }

  /// Anybody shows valid certificates of any number of subdomains.
  @Test func certificatesOfSubdomainsAreForgotten() {
    var options = FederationOptions()
    options.verification = .dialback
    let clock = HandClock()
    let policy = DomainPolicy(options, clock: clock)
    func verify(_ domain: String, isKnown: Bool) -> [DomainPair] {
      clock.set(clock.now.milliseconds + 1)
      let pair = DomainPair(local: "verona.example", remote: domain)
      return policy.verified(pair, at: clock.now, isKnown: isKnown).dropped
    }
    _ = verify("mantua.example", isKnown: false)
    for number in 0...PeerLimits.certificatesPerZoneMax {
      // These are not stored, so nothing is removed from the store.
      #expect(verify("s\(number).evil.test", isKnown: false).isEmpty)
    }
    #expect(policy.believesDialback(of: "s0.evil.test"))
    #expect(!policy.believesDialback(of: "s\(PeerLimits.certificatesPerZoneMax).evil.test"))
    // An account here makes its subdomains known: those stored first are removed.
    var dropped: [DomainPair] = []
    for number in 0...PeerLimits.certificatesPerKnownZoneMax {
      dropped += verify("s\(number).evil.test", isKnown: true)
    }
    #expect(dropped.count == (PeerLimits.certificatesPerKnownZoneMax + 1) / 8)
    #expect(dropped.first?.remote == "s0.evil.test")
    #expect(!policy.believesDialback(of: "mantua.example"))
  }

  @Test func theZoneWithTheMostCertificatesGivesWay() {
    var domains = CertifiedDomains(max: 20, ofZoneMax: 16)
    func pair(_ domain: String) -> DomainPair { DomainPair(local: "verona.example", remote: domain) }
    func at(_ number: Int) -> Timestamp { Timestamp(milliseconds: Int64(number)) }
    var dropped = domains.note(pair("mantua.example"), at: at(0))
    for number in 1...16 { dropped += domains.note(pair("s\(number).evil.test"), at: at(number)) }
    #expect(dropped.isEmpty)
    // The bound of a zone.
    dropped = domains.note(pair("s17.evil.test"), at: at(17))
    #expect(dropped == [pair("s1.evil.test"), pair("s2.evil.test")])
    // The bound of all: they were 16.
    for number in 18...21 { dropped = domains.note(pair("s.evil\(number).test"), at: at(number)) }
    #expect(dropped.isEmpty && domains.count == 20)
    dropped = domains.note(pair("s.evil22.test"), at: at(22))
    #expect(dropped == [pair("s3.evil.test")] && domains.count == 20)
    #expect(domains.time(of: "mantua.example") == at(0))
    // Of two pairs with one domain the newer is stored.
    let other = DomainPair(local: "padua.example", remote: "mantua.example")
    dropped = domains.note(other, at: at(23))
    #expect(dropped == [pair("mantua.example")])
    dropped = domains.note(pair("mantua.example"), at: at(1))
    #expect(dropped == [pair("mantua.example")] && domains.time(of: "mantua.example") == at(23))
    // What is too old.
    dropped = domains.removeAll(before: at(22), atMost: 100)
    #expect(dropped.count == 18 && domains.count == 2)
  }

  @Test func residentsAreBoundedForTheDomainAndForEachRoom() {
    var limits = ResidentLimits()
    (limits.all, limits.inRoom, limits.ofUser) = (5, 2, 3)
    #expect(limits.admit(residents: 4, inRoom: 1, ofUser: 2, isResident: false))
    #expect(!limits.admit(residents: 4, inRoom: 2, ofUser: 2, isResident: false))
    #expect(!limits.admit(residents: 5, inRoom: 1, ofUser: 2, isResident: false))
    #expect(!limits.admit(residents: 4, inRoom: 1, ofUser: 3, isResident: false))
    #expect(limits.admit(residents: 4, inRoom: 1, ofUser: nil, isResident: false))
    // Who is in one room enters another.
    #expect(limits.admit(residents: 5, inRoom: 1, ofUser: 3, isResident: true))
    #expect(!limits.admit(residents: 5, inRoom: 2, ofUser: 3, isResident: true))
    #expect(ResidentLimits().admit(residents: 4_999, inRoom: 499, ofUser: 31, isResident: false))
    #expect(!ResidentLimits().admit(residents: 4_999, inRoom: 500, ofUser: 31, isResident: false))
    #expect(!ResidentLimits().admit(residents: 5_000, inRoom: 0, ofUser: 0, isResident: false))
  }

  /// The residents of all subdomains of a zone, with their places in rooms, have a bound of memory together.
  @Test func theResidentsOfAZoneHaveABoundOfMemory() async throws {
    // The addresses come on top of it, some 40 bytes each.
    let one = DoorLimits.residentBytes + DoorLimits.residentSeatBytes
    var memory = SessionMemory()
    memory.residents = WaitingBytes(ownerBytesMax: 3 * one + 300)
    let held = memory.residents
    let scripted = try await ScriptedFederation(memory: memory)
    let room = try #require(BareJID(parsing: "hall@conference.localhost"))
    let other = try #require(BareJID(parsing: "garden@conference.localhost"))
    /// Returns how many of so many clients enter the room.
    func entered(_ count: Int, by link: FederationLink) async throws -> Int {
      let addresses = try (0..<count).map { try #require(FullJID(parsing: "u\($0)@\(link.pair.remote)/x")) }
      return await link.ask { driver in
        guard let residents = driver.work?.residents else { return 0 }
        var admitted = 0
        for address in addresses where residents.refusal(of: room, to: address) == nil {
          let session = residents.settle(Party(remote: address.bare, realm: link.realm), at: address, by: link)
          session.outlet?.entered(room)
          admitted += 1
        }
        return admitted
      }
    }
    let links = try ["a.mantua.example", "b.mantua.example", "verona.example"].map { try scripted.link($0) }
    #expect(try await entered(2, by: links[0]) == 2)
    #expect(try await entered(4, by: links[1]) == 1)
    #expect(try await entered(4, by: links[2]) == 3)
    #expect(held.bytes / one == 6)
    // Neither does a resident enter another room, nor does a caller come.
    let address = try #require(FullJID(parsing: "u0@a.mantua.example/x"))
    let isRefused = await links[0].ask { driver in
      driver.work?.residents.refusal(of: other, to: address) != nil && driver.work?.residents.takesCallers == false
    }
    #expect(isRefused)
    await links[0].ask { $0.work?.residents.end() }
    #expect(held.bytes / one == 4)
    #expect(try await entered(4, by: links[0]) == 2)
    for link in links { await link.ask { $0.work?.residents.end() } }
    #expect(held.bytes == 0)
    try await scripted.end()
  }

  /// Residents are counted as they enter and leave: a request to enter looks at none of the others.
  @Test func residentsAreCountedInTheirRoomsAndForTheirUsers() async throws {
    let scripted = try await ScriptedFederation()
    let link = try scripted.link("mantua.example")
    let (room, other) = (
      try #require(BareJID(parsing: "hall@conference.localhost")), try #require(BareJID(parsing: "b@mantua.example"))
    )
    let fresh = try #require(FullJID(parsing: "\(other)/x"))
    let clients = try (0..<DoorLimits.residentsPerRoomMax).map { number in
      try #require(FullJID(parsing: "a\(number / DoorLimits.residentsPerUserMax)@mantua.example/\(number)"))
    }
    let seen = await link.ask { driver -> [Bool] in
      guard let residents = driver.work?.residents else { return [] }
      func isRefused(_ address: FullJID) -> Bool { residents.refusal(of: room, to: address) != nil }
      func entered(_ address: FullJID) -> XMPPSession {
        let session = residents.settle(Party(remote: address.bare, realm: link.realm), at: address, by: link)
        session.outlet?.entered(room)
        return session
      }
      let sessions = clients.map { entered($0) }
      var seen = [isRefused(fresh)]
      sessions[0].outlet?.left(room)
      seen.append(isRefused(fresh))
      // The first user has as many residents as one may; one of them ends.
      guard let second = FullJID(parsing: "\(clients[0].bare)/next") else { return [] }
      seen.append(isRefused(second))
      residents.flushed(sessions[0])
      seen.append(isRefused(second))
      residents.end()
      return seen + [isRefused(fresh)]
    }
    #expect(seen == [true, false, true, false, false])
    try await scripted.end()
  }
}
