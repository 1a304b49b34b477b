import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import ServerMetrics
import Testing

@testable import XMPPDoor

/// The bound of what one account may send, over sessions that come and go.
@Suite(.timeLimit(.minutes(1))) struct SessionInDebtTests {
  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"

  /// The number of pauses for bytes.
  private func pauses(_ network: ServerNetwork) -> Int? {
    let name = "parley_sending_pauses_total{bound=\"bytes\"} "
    let lines = network.door.parley.metrics.exposition(Readings()).split(separator: "\n")
    return lines.first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) }
  }

  /// A session has one stanza in debt, behind which it is not read. Nobody has one more by another login.
  @Test func aNewSessionOfAUserInDebtIsNotReadEither() async throws {
    let network = try ServerNetwork()
    let (stage, address) = (network.stage, try bare("juliet@localhost"))
    _ = try await stage.accounts.register(address, password: "x", displayName: nil)
    let found = try await stage.parley.read { try $0.user(address) }
    let juliet = try #require(found.map { Party(id: $0.id, realm: $0.realm, address: $0.address) })
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
    _ = budget.charge(stanzas: 0, bytes: 1 << 30, now: stage.clock.now)
    #expect(pauses(network) == 1)

    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let client = try await RawServer(
      network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
    for (text, end) in [
      (Self.header, "</stream:features>"),
      ("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGp1bGlldAB4</auth>", "<success"),
      (Self.header, "</stream:features>"),
      ("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", "</iq>"),
    ] {
      try await client.send(text)
      #expect(await client.read(to: end).contains(end))
    }
    #expect(pauses(network) == 2)
    try await client.close()
    await listener.stopAccepting()
    try await network.end()
  }

  /// Clocks by which each read takes a second.
  private func slowClocks() -> JudgingClocks {
    let thread = Locked(Duration.zero)
    return JudgingClocks(
      wall: { .zero },
      thread: {
        thread.withLock { time in
          time += .seconds(1)
          return time
        }
      })
  }

  /// What a session has missed is read at the cost of its user, so that nobody reads more by connecting again and again.
  @Test func longReadsOfWhatWasMissedAreCharged() async throws {
    let network = try ServerNetwork(judging: slowClocks())
    let place = try await network.place()
    let juliet = try await network.stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let (door, loopContext, now) = (network.door, place.loopContext, network.stage.clock.now)
    let budget = network.stage.parley.sending.budget(of: juliet, from: nil, now: now)
    // What may come at once, and what may be missed.
    budget.owe(stanzas: 1_000, now: now)
    budget.oweMissed(stanzas: Limits.missedReadRate.burst, now: now)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
    let session = try await place.loop.submit {
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      session.cursor = StreamCursor(at: .zero, .behind, replay: .over, replayed: .zero)
      session.resumeReading()
      return NIOLoopBound(session, eventLoop: place.loop)
    }.get()
    let end = ContinuousClock.now + .seconds(30)
    while budget.charge(stanzas: 0, bytes: 0, now: now) == nil {
      try #require(ContinuousClock.now < end)
      await Task.yield()
    }
    try await place.loop.submit { session.value.end() }.get()
    try await network.end()
  }

  /// A read for what a client asks for is charged if it takes long, and one of what others have sent, or of what it has missed, is not.
  @Test func longReadsForAClientAreCharged() async throws {
    let network = try ServerNetwork(judging: slowClocks())
    let place = try await network.place()
    let juliet = try await network.stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let (door, loopContext, now) = (network.door, place.loopContext, network.stage.clock.now)
    let budget = network.stage.parley.sending.budget(of: juliet, from: nil, now: now)
    // What may come at once.
    budget.owe(stanzas: 1_000, now: now)
    let session = try await place.loop.submit {
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      return NIOLoopBound(session, eventLoop: place.loop)
    }.get()
    for reason in [ReadReason.followed, .missed, .asked] {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        place.loop.execute {
          session.value.fetch(for: reason, { _ in true }) { (_: Result<Bool, Problem>) in continuation.resume() }
        }
      }
      #expect((budget.charge(stanzas: 0, bytes: 0, now: now) != nil) == (reason == .asked))
    }
    try await place.loop.submit { session.value.end() }.get()
    try await network.end()
  }

  @Test func aNewStreamOfADomainInDebtIsNotReadEither() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let capulet = ServerSide("capulet.example", network, place: place)
    let montague = ServerSide("montague.example", network, place: place)
    try await network.join(capulet, certified: ["capulet.example"])
    try await network.join(montague, certified: ["montague.example"])
    let now = network.stage.clock.now
    let budget = network.door.parley.sending.budget(of: .domain("capulet.example"), now: now)
    _ = budget.charge(stanzas: 0, bytes: 1 << 40, now: now)
    #expect(pauses(network) == 1)
    let peer = try await RawServer(network.group, port: try network.port(of: "montague.example"))
    try await peer.authenticate()
    let pair = DomainPair(local: "montague.example", remote: "capulet.example")
    #expect(await montague.owner.next() == .opened(pair, mayWrite: false, isCertified: true))
    #expect(pauses(network) == 2)
    try await peer.close()
    for side in [capulet, montague] { await side.listener.stopAccepting() }
    try await network.end()
  }
}
