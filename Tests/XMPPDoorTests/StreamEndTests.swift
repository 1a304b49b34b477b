import Accounts
import Dialogs
import DialogsFixtures
import Testing

@testable import XMPPDoor

/// The end of a stream that its client closes.
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
}
