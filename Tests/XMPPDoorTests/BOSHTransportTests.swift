import Accounts
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// What a BOSH session keeps of a client whose requests are taken in and not read yet.
@Suite(.timeLimit(.minutes(1))) struct BOSHTransportTests {
  private static func request(_ rid: Int, _ attributes: String, _ payload: String = "") throws -> BOSHRequest {
    let start = "<body xmlns='http://jabber.org/protocol/httpbind' rid='\(rid)' \(attributes)"
    return try BOSHRequest(Element(parsing: "\(start)>\(payload)</body>".utf8, defaultNamespace: ""))
  }

  /// Sends a request, and returns its response when that is due.
  private static func ask(
    _ request: BOSHRequest, _ transport: NIOLoopBound<BOSHTransport>, on loop: any EventLoop
  ) async -> String {
    await withCheckedContinuation { continuation in
      loop.execute {
        transport.value.received(request, as: Int(request.rid), byteCount: 0) {
          continuation.resume(returning: String(buffer: $0))
        }
      }
    }
  }

  /// Returns a session of Juliet's, whose last request was 1,003.
  private static func logIn(
    _ listener: XMPPListener, on loop: any EventLoop
  ) async throws -> NIOLoopBound<BOSHTransport> {
    let first = try request(1_000, "to='localhost' wait='60' hold='1'")
    let transport = try await loop.submit {
      let connection = try listener.connect(on: loop, framing: .bodies, isSecured: true, peer: "192.0.2.1")
      return NIOLoopBound(BOSHTransport(first, sid: "s", connection: connection) {}, eventLoop: loop)
    }.get()
    let plain = Base64.string(Array("\u{0}juliet\u{0}x".utf8))
    let auth = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(plain)</auth>"
    let bind = "<iq xmlns='jabber:client' type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    let restart = "sid='s' to='localhost' xmlns:xmpp='urn:xmpp:xbosh' xmpp:restart='true'"
    for (request, part) in [
      (first, "mechanisms"), (try request(1_001, "sid='s'", auth), "success"),
      (try request(1_002, restart), "xmpp-bind"), (try request(1_003, "sid='s'", bind), "juliet@localhost/"),
    ] {
      let response = await ask(request, transport, on: loop)
      try #require(response.contains(part), "\(response)")
    }
    return transport
  }

  /// A client that closes the connections of its requests may send as many as it likes: their bytes are bounded.
  @Test func whatIsUnreadIsBoundedUntilItIsRead() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let answers = Locked<[Int: String]>([:])
    let count = 256
    try await loop.submit {
      let first = try Self.request(100, "to='localhost' wait='60' hold='1'")
      let connection = try listener.connect(on: loop, framing: .bodies, isSecured: true, peer: "192.0.2.1")
      let transport = BOSHTransport(first, sid: "s", connection: connection) {}
      func send(_ request: BOSHRequest, _ number: Int, _ bytes: Int) {
        transport.received(request, as: number, byteCount: bytes) { response in
          answers.withLock { $0[number] = String(buffer: response) }
        }
      }
      send(first, 0, 0)
      // The store is slow: as many posts are in flight as a session may have.
      connection.pause(.posts)
      // Each request is as large as it may be before a login, and is answered at once (XEP-0124 10).
      let bytes = DoorLimits.unreadBytesBeforeLoginMax / count
      for number in 1...count { send(try Self.request(100 + number, "sid='s' pause='60'"), number, bytes) }
      // All is read now; the next ones are not.
      connection.unpause(.posts)
      connection.pause(.posts)
      for number in (count + 1)...(2 * count) {
        send(try Self.request(100 + number, "sid='s'", "<presence xmlns='jabber:client'/>"), number, bytes)
        transport.abandoned(number)
      }
      #expect(answers.withLock { $0.values.allSatisfy { !$0.contains("terminate") } })
      for number in (2 * count + 1)...(2 * count + 2) {
        send(try Self.request(100 + number, "sid='s'", "<presence xmlns='jabber:client'/>"), number, bytes)
      }
    }.get()
    let texts = answers.withLock { $0 }
    #expect(texts.count == 2 * count + 3)
    let end = try #require(texts[2 * count + 1])
    // The error of the stream comes with the end of the session (XEP-0206 6).
    for part in ["terminate", "remote-stream-error", "policy-violation", "more is sent than the server reads"] {
      #expect(end.contains(part), "\(part): \(end)")
    }
    #expect(texts[2 * count + 2]?.contains("item-not-found") == true)
    await listener.stopAccepting()
    try await network.end()
  }

  /// A client that is logged in posts while the store commits nothing, and closes the connections of its requests: as many
  /// posts as may be in flight wait for the store, and as many bytes behind them as may be unread. Then its session ends.
  @Test func whatWaitsForAStalledStoreIsBounded() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    _ = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let romeo = try await stage.user("romeo")
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let transport = try await Self.logIn(listener, on: loop)

    let gate = Gate()
    defer { gate.open() }
    let stalled = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    let answers = Locked<[Int: String]>([:])
    let text = String(repeating: "x", count: 8_000)
    let message = "<message xmlns='jabber:client' to='romeo@localhost' type='chat'><body>\(text)</body></message>"
    let bytes = message.utf8.count
    let end = try await loop.submit { () -> Int? in
      for number in 1...4_000 {
        let request = try Self.request(1_003 + number, "sid='s'", message)
        transport.value.received(request, as: 1_003 + number, byteCount: bytes) { response in
          answers.withLock { $0[number] = String(buffer: response) }
        }
        transport.value.abandoned(1_003 + number)
        if answers.withLock({ $0[number]?.contains("terminate") == true }) { return number }
      }
      return nil
    }.get()
    let count = try #require(end, "4,000 requests wait")
    let behind = DoorLimits.unreadBytesMax / bytes
    #expect(behind < count && count <= DoorLimits.postsInFlightMax + behind)
    #expect(answers.withLock { $0[count]?.contains("more is sent than the server reads") == true })
    gate.open()
    try await stalled.value
    // What was in flight is stored, and nothing of what waited behind it.
    try await stage.parley.post(.confirm(.zero), by: romeo)
    let stored = try await stage.parley.read { try $0.archive(of: .own(romeo), ArchiveQuery(limit: 999)).entries.count }
    #expect(stored == DoorLimits.postsInFlightMax)
    await listener.stopAccepting()
    try await network.end()
  }

  /// A request that is repeated brings no element. It is charged as a stanza all the same, and in debt there are not many of them.
  @Test func repeatedRequestsAreCharged() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: user.address)
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let loop = try #require(listener.mounted.first).loop
    let transport = try await Self.logIn(listener, on: loop)
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: now)
    // Most of what may come at once.
    budget.owe(stanzas: 990, now: now)
    let last = try Self.request(1_003, "sid='s'")
    var count = 0
    while budget.charge(stanzas: 0, bytes: 0, now: now) == nil {
      let response = await Self.ask(last, transport, on: loop)
      #expect(response.contains("juliet@localhost/"))
      count += 1
      try #require(count <= 20, "nobody is charged")
    }
    var response = ""
    count = 0
    while !response.contains("terminate"), count <= BOSHPolicy().nothingInDebtMax {
      response = await Self.ask(last, transport, on: loop)
      count += 1
    }
    #expect(response.contains("policy-violation"), "\(response)")
    #expect(count > BOSHPolicy().nothingInDebtMax / 2)
    await listener.stopAccepting()
    try await network.end()
  }

  /// A session before its login gives way as a connection does: its held request is answered with the end.
  @Test func aSessionBeforeItsLoginGivesWay() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(
      door: network.door, group: network.group, tls: { _ in nil }, unauthenticatedMax: 1)
    let loop = try #require(listener.mounted.first).loop
    let answers = Locked<[Int: String]>([:])
    try await loop.submit {
      let first = try Self.request(100, "to='localhost' wait='60' hold='1'")
      let connection = try listener.connect(on: loop, framing: .bodies, isSecured: true, peer: "192.0.2.1")
      let transport = BOSHTransport(first, sid: "s", connection: connection) {}
      let second = try Self.request(101, "sid='s'")
      for (number, request) in [first, second].enumerated() {
        transport.received(request, as: number, byteCount: 100) { response in
          answers.withLock { $0[number] = String(buffer: response) }
        }
      }
      #expect(answers.withLock { $0[1] } == nil)
      _ = try listener.connect(on: loop, framing: .bodies, isSecured: true, peer: "192.0.2.2")
    }.get()
    // What the newcomer has caused is executed before this.
    try await loop.submit {}.get()
    #expect(answers.withLock { $0[1] }?.contains("terminate") == true)
    #expect(listener.unauthenticated.count == 1)
    await listener.stopAccepting()
    try await network.end()
  }
}
