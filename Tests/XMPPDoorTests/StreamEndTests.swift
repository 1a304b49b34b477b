import Accounts
import Addresses
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMPP

@testable import XMPPDoor

/// The end of a stream that its client closes, and of those that a stop ends.
@Suite(.timeLimit(.minutes(1))) struct StreamEndTests {
  /// A client enters a room, speaks there and closes its stream, without waiting for an earlier message: the entrance waits
  /// for that one, and the message to the room for the entrance.
  @Test func whatIsSentBeforeTheClosingTagIsDone() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: user.address)
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let client = try await RawServer(
      network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
    try await client.logIn("juliet", password: "x")
    try await client.ask("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", until: "</iq>")

    // Hold the committer, so that the first message is under way when the rest comes.
    let gate = Gate()
    defer { gate.open() }
    let held = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    try await client.ask(
      "<message to='romeo@localhost' type='chat' id='m1'><body>first</body></message>"
        + "<presence to='\(room.address)/juliet'><x xmlns='http://jabber.org/protocol/muc'/></presence>"
        + "<message to='\(room.address)' type='groupchat' id='m2'><body>hello</body></message></stream:stream>",
      until: "</stream:stream>")
    gate.open()
    try await held.value
    while !stage.parley.hub.onlineSessions(of: juliet.id).isEmpty { await Task.yield() }
    let texts = try await stage.parley.read { reader -> [String] in
      let said = try reader.history(
        of: .server(room.dialog, .rules), after: .zero, before: .end, limit: 99, ascending: true)
      return said.compactMap { entry -> String? in
        if case .message(let message) = entry.fact { message.content.text } else { nil }
      }
    }
    #expect(texts == ["hello"])
    await listener.stopAccepting()
    try await network.end()
  }

  /// What is not done in time does not keep the session of a closed stream, and a stop ends it, too.
  @Test(arguments: [false, true]) func theSessionOfAClosedStreamEndsInTime(isStopping: Bool) async throws {
    let network = try ServerNetwork()
    let (stage, door) = (network.stage, network.door)
    let juliet = try await stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let place = try await network.place()
    let gate = Gate()
    defer { gate.open() }
    let held = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    let ends = try await place.loop.submit { () -> [Bool] in
      let loopContext = place.loopContext.value
      let session = XMPPSession(door: door, loopContext: loopContext, party: juliet, jid: jid)
      session.follow(from: .zero)
      session.post(.confirm(.zero), then: nil)
      session.streamEnded(byClient: true)
      session.connectionLost()
      session.tick(.now())
      let early = session.isEnded
      if isStopping {
        _ = loopContext.shutDown(ArchiveShare(sizes: [], bytesMax: 0))
      } else {
        session.tick(.now() + DoorLimits.closedWork)
      }
      return [early, session.isEnded]
    }.get()
    #expect(ends == [false, true])
    gate.open()
    try await held.value
    try await stage.settle(juliet)
    try await network.end()
  }

  /// A client comes back when the loop of its former session has stored it for the next start, and the loop of its new
  /// connection not yet: it is not told that there is no such session, and resumes it after the restart.
  @Test func aStreamThatCannotBeResumedDuringAStopIsNotRefused() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: user.address)
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let place = try #require(listener.mounted.first)
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    let bind = "<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    for isStopping in [false, true] {
      let client = try await RawServer(network.group, port: port)
      try await client.logIn("juliet", password: "x")
      let stored = try await place.loop.submit { () -> String? in
        let loopContext = place.loopContext.value
        let session = XMPPSession(door: door, loopContext: loopContext, party: juliet, jid: jid)
        session.follow(from: .zero)
        _ = session.enable(resume: true, max: nil)
        session.suspend()
        if isStopping { _ = loopContext.archivedSizes() }
        // As the loop does with what it has stored.
        session.abandon()
        return session.management.id
      }.get()
      let stream = try #require(stored)
      let answer = try await client.ask(
        "<resume xmlns='urn:xmpp:sm:3' previd='\(stream)' h='0'/>" + bind, until: "</iq>")
      #expect(answer.contains("item-not-found") == !isStopping)
      try await client.close()
    }
    await listener.stopAccepting()
    try await network.end()
  }
}
