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
      let bytes = DoorLimits.unreadBytesMax / count
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
}
