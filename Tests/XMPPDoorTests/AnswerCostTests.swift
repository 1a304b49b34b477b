import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import XMPP
@testable import XMPPDoor

/// What a user is charged for the answers to requests.
@Suite(.timeLimit(.minutes(1))) struct AnswerCostTests {
  /// A client of Juliet's.
  private struct Place {
    let network: ServerNetwork
    let listener: XMPPListener
    let client: RawServer
    let juliet: Party
    let budget: SendingBudget
    let all: Int

    init() async throws {
      network = try ServerNetwork()
      let stage = network.stage
      let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
      juliet = Party(id: user.id, realm: user.realm, address: user.address)
      let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
      let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
      listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
      client = try await RawServer(
        network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
      budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
      _ = Self.left(of: budget, on: stage)
      all = Self.left(of: budget, on: stage)
    }

    func logIn() async throws {
      try await client.logIn("juliet", password: "x")
      try await client.ask(
        "<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", until: "</iq>")
      _ = charged()
    }

    /// Returns how many stanzas a user has left, who has all of them again afterwards.
    static func left(of budget: SendingBudget, on stage: Stage) -> Int {
      let now = stage.clock.now
      var count = 0
      while budget.charge(stanzas: 1, bytes: 0, now: now) == nil { count += 1 }
      stage.clock.set(now.milliseconds + 60_000)
      return count
    }

    /// Returns the stanzas that Juliet was charged for since the last call.
    func charged() -> Int { all - Self.left(of: budget, on: network.stage) }

    func end() async throws {
      try await client.close()
      await listener.stopAccepting()
      try await network.end()
    }
  }

  /// Items, and names in which each character is written as five, count by what is written.
  @Test func anAnswerIsChargedByItsBytes() async throws {
    let place = try await Place()
    let owner = place.juliet.id
    let payload = Array("<a xmlns='x'>\(String(repeating: "x", count: DoorLimits.answerBytesPerStanza))</a>".utf8)
    let names = (100..<200).map { "\($0)" + String(repeating: "&", count: 600) }
    try await place.network.stage.parley.work { writer in
      for (name, count) in [("large", 3), ("long", names.count)] {
        try writer.put(
          Node(owner: owner, name: name, configuration: NodeConfiguration(), createdAt: someTime, itemCount: count))
      }
      for (index, name) in names.enumerated() {
        let position = Position(Int64(index) + 2)
        try writer.put(
          NodeItem(id: name, content: .opaque([]), position: position, time: someTime), in: "long", of: owner)
        if index >= 3 { continue }
        try writer.put(
          NodeItem(id: "\(index)", content: .opaque(payload), position: position, time: someTime), in: "large",
          of: owner)
      }
    }
    try await place.logIn()
    for (request, end, least) in [
      (
        "<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='large' max_items='3'/></pubsub>",
        "</pubsub></iq>", 3
      ),
      ("<query xmlns='http://jabber.org/protocol/disco#items' node='long'/>", "</query></iq>", 4),
      ("<query xmlns='http://jabber.org/protocol/disco#items'/>", "</query></iq>", 0),
    ] {
      let answer = try await place.client.ask("<iq type='get' id='r'>\(request)</iq>", until: end)
      let stanzas = answer.utf8.count / DoorLimits.answerBytesPerStanza
      #expect(stanzas >= least)
      #expect(place.charged() == 1 + stanzas, "\(request)")
    }
    try await place.end()
  }

  /// Those who ask by a link are charged where what they send is.
  @Test func answersToTheUsersOfALinkAreChargedToIt() async throws {
    let stage = try Stage(remotes: ["irc.localhost"])
    let juliet = try await stage.user("juliet")
    let payload = Array("<a xmlns='x'>\(String(repeating: "x", count: DoorLimits.answerBytesPerStanza))</a>".utf8)
    try await stage.parley.work { writer in
      var configuration = NodeConfiguration()
      configuration.access = .open
      try writer.put(
        Node(owner: juliet.id, name: "large", configuration: configuration, createdAt: someTime, itemCount: 3))
      for index in 0..<3 {
        try writer.put(
          NodeItem(id: "\(index)", content: .opaque(payload), position: Position(Int64(index) + 2), time: someTime),
          in: "large", of: juliet.id)
      }
    }
    let component = DoorContext.Options.Component(secret: "prospero", home: "localhost")
    let door = DoorContext(
      accounts: stage.accounts,
      options: DoorContext.Options(domains: ["localhost"], version: "1", components: ["irc.localhost": component]),
      logger: Logger(label: "component") { _ in SwiftLogNoOpLogHandler() })
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let listener = try await XMPPListener(door: door, group: group, tls: { _ in nil })
    let peer = try await RawServer(group, port: try await listener.listenForComponents(host: "127.0.0.1", port: 0))
    let header = try await peer.ask(
      "<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' "
        + "to='irc.localhost'>", until: " id='")
    let id = String(try #require(header.split(separator: " id='").last).prefix { $0 != "'" })
    let proof = String(decoding: ComponentMachine.proof(id: id, secret: "prospero"), as: UTF8.self)
    try await peer.ask("<handshake>\(proof)</handshake>", until: "<handshake/>")

    let budget = stage.parley.sending.budget(of: .component("irc.localhost"), now: stage.clock.now)
    _ = Place.left(of: budget, on: stage)
    let all = Place.left(of: budget, on: stage)
    let answer = try await peer.ask(
      "<iq type='get' id='r' from='irc.localhost' to='juliet@localhost'>"
        + "<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='large' max_items='3'/></pubsub></iq>",
      until: "</pubsub></iq>")
    let stanzas = answer.utf8.count / DoorLimits.answerBytesPerStanza
    #expect(stanzas >= 3)
    // The charge follows the answer, and comes before the next one.
    try await peer.ask(
      "<iq type='get' id='p' from='irc.localhost' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>", until: "id='p'")
    #expect(all - Place.left(of: budget, on: stage) == 2 + stanzas)
    try await peer.close()
    await listener.stopAccepting()
    try await group.shutdownGracefully()
  }

  /// Whoever becomes available again and again is charged for the requests that come again each time, and for no other contacts.
  @Test func requestsThatComeAgainAreCharged() async throws {
    let place = try await Place()
    let (owner, count) = (place.juliet.id, 20 * DoorLimits.rosterItemsPerStanza)
    let addresses = try (0..<2 * count).map { try bare("c\($0)@elsewhere.example") }
    try await place.network.stage.parley.work { writer in
      for (number, address) in addresses.enumerated() {
        let subscription = number < count ? Subscription.nonePendingIn : Subscription.none.listed
        try writer.put(
          Contact(owner: owner, address: address, peer: nil, subscription: subscription, version: Position(2)))
      }
    }
    try await place.logIn()
    let ping = "<iq type='get' id='p' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>"
    for _ in 0..<2 {
      let heard = try await place.client.ask("<presence/>" + ping, until: "id='p'")
      #expect(heard.split(separator: "type='subscribe'").count == count + 1)
      #expect(place.charged() == 2 + 20)
      try await place.client.ask("<presence type='unavailable'/>" + ping, until: "id='p'")
      #expect(place.charged() == 2)
    }
    try await place.end()
  }

  /// Whoever becomes available again and again is charged for the contacts whose last items are looked for.
  @Test func lookingForLastItemsIsChargedByContacts() async throws {
    let place = try await Place()
    let owner = place.juliet.id
    let addresses = try (0..<20 * DoorLimits.rosterItemsPerStanza).map { try bare("c\($0)@elsewhere.example") }
    try await place.network.stage.parley.work { writer in
      try writer.put(
        Node(owner: owner, name: "urn:n", configuration: NodeConfiguration(), createdAt: someTime, itemCount: 1))
      try writer.put(
        NodeItem(id: "i", content: .opaque([]), position: Position(2), time: someTime), in: "urn:n", of: owner)
      for address in addresses {
        try writer.put(
          Contact(
            owner: owner, address: address, peer: nil, subscription: Subscription.none.listed, version: Position(2)))
      }
    }
    try await place.logIn()
    let client = place.client
    let presence =
      "<presence><c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='n' ver='v'/></presence>"
    // The user's own last item comes when the contacts have been counted.
    let last = "</message>"
    let question = try await client.ask(presence, until: "node='n#v'")
    let id = try #require(question.text(between: "<iq type='get' id='", and: "'"))
    let answer =
      "<iq type='result' id='\(id)' to='localhost'><query xmlns='http://jabber.org/protocol/disco#info' node='n#v'>"
      + "<identity category='client' type='pc'/><feature var='urn:n+notify'/></query></iq>"
    try await client.ask(answer, until: last)
    _ = place.charged()
    try await client.ask("<presence type='unavailable'/>" + presence, until: last)
    #expect(place.charged() == 2 + 20)
    try await place.end()
  }
}

extension String {
  /// Returns the text between the first occurrence of one text and the next one of another.
  fileprivate func text(between start: String, and end: Character) -> String? {
    guard let range = firstRange(of: start) else { return nil }
    return self[range.upperBound...].split(separator: end).first.map { String($0) }
  }
}
