import Dialogs
import NIOCore
import NIOEmbedded
import Peers
import ServerMetrics
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// Two servers that open streams to each other over TCP and TLS on the loopback interface.
@Suite(.timeLimit(.minutes(2))) struct ServerConnectionTests {
  private static let out = DomainPair(local: "capulet.example", remote: "montague.example")
  private static let back = DomainPair(local: "montague.example", remote: "capulet.example")

  private static let believing: FederationOptions = {
    var options = FederationOptions()
    options.verification = .dialback
    return options
  }()

  private struct Servers {
    let network: ServerNetwork
    let capulet: ServerSide
    let montague: ServerSide
  }

  /// Runs a test with two servers.
  private func withServers(
    directTLS: Bool = false, certified: Bool = true, _ options: FederationOptions = FederationOptions(),
    _ body: (Servers) async throws -> Void
  ) async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let capulet = ServerSide("capulet.example", network, place: place)
    let montague = ServerSide("montague.example", network, place: place, options)
    try await network.join(
      capulet, directTLS: directTLS, certified: certified ? ["capulet.example", "rooms.capulet.example"] : [])
    try await network.join(montague, directTLS: directTLS, certified: ["montague.example"])
    try await body(Servers(network: network, capulet: capulet, montague: montague))
    await capulet.listener.stopAccepting()
    await montague.listener.stopAccepting()
    try await network.end()
  }

  // MARK: Two of them

  /// XEP-0178, XEP-0288, XEP-0198, XEP-0368.
  @Test(arguments: [false, true]) func aStreamByCertificateCarriesBothDirections(directTLS: Bool) async throws {
    try await withServers(directTLS: directTLS) { servers in
      let (capulet, montague) = (servers.capulet, servers.montague)
      capulet.open("montague.example")
      #expect(await capulet.owner.next() == .opened(Self.out, mayWrite: true, isCertified: true))
      #expect(await montague.owner.next() == .opened(Self.back, mayWrite: true, isCertified: true))
      #expect(montague.listener.unverifiedCount == 0)
      let (outgoing, incoming) = (try #require(capulet.owner.last), try #require(montague.owner.last))
      let statuses = try await outgoing.loop.submit { [outgoing.stream?.status, incoming.stream?.status] }.get()
      #expect(statuses.map { $0?.direction } == [.both, .both])
      #expect(statuses.map { $0?.tls } == ["TLSv1.3", "TLSv1.3"])
      #expect(statuses.map { $0?.verified } == ["pkix", "pkix"])
      #expect(statuses.map { $0?.acknowledges } == [true, true])

      for text in ["one", "two"] {
        #expect(try await outgoing.say(text, from: "juliet@capulet.example", to: "romeo@montague.example"))
      }
      #expect(await montague.owner.next() == .received("one", of: Self.back))
      #expect(await montague.owner.next() == .received("two", of: Self.back))
      var acknowledged = 0
      while acknowledged < 2 {
        guard case .acknowledged(let count, Self.out)? = await capulet.owner.next() else { break }
        acknowledged += count
      }
      #expect(acknowledged == 2)
      #expect(try await incoming.say("three", from: "romeo@montague.example", to: "juliet@capulet.example"))
      #expect(await capulet.owner.next() == .received("three", of: Self.out))
      #expect(await montague.owner.next() == .acknowledged(1, of: Self.back))

      outgoing.run { $0.close(nil) }
      #expect(await capulet.owner.next() == .closed([Self.out]))
      #expect(await montague.owner.next() == .closed([Self.back]))
    }
  }

  /// XEP-0220, XEP-0344: without a certificate that is good, but believed. The second stream asks the first server.
  @Test(arguments: [false, true]) func aStreamByDialback(directTLS: Bool) async throws {
    try await withServers(directTLS: directTLS, certified: false, Self.believing) { servers in
      let (capulet, montague) = (servers.capulet, servers.montague)
      capulet.open("montague.example")
      #expect(await capulet.owner.next() == .opened(Self.out, mayWrite: true, isCertified: true))
      #expect(await montague.owner.next() == .opened(Self.back, mayWrite: true, isCertified: false))
      let outgoing = try #require(capulet.owner.last)
      #expect(try await outgoing.say("one", from: "juliet@capulet.example", to: "romeo@montague.example"))
      #expect(await montague.owner.next() == .received("one", of: Self.back))
      #expect(await capulet.owner.next() == .acknowledged(1, of: Self.out))
    }
  }

  @Test func dialbackIsNotBelievedUnlessTheOperatorSaysSo() async throws {
    try await withServers(certified: false) { servers in
      servers.capulet.open("montague.example")
      #expect(
        await servers.capulet.owner.next()
          == .failed(
            OpenFailure(
              isFinal: false,
              reason: "the server said policy-violation: the certificate is not for capulet.example")))
      #expect(
        servers.montague.streams.lastRefusal(of: "capulet.example")
          == "the certificate is not for capulet.example")
    }
  }

  @Test func aDomainThatIsNotAdmittedIsToldSo() async throws {
    var options = FederationOptions()
    options.rules.denied = [try #require(DomainPattern("capulet.example"))]
    try await withServers(options) { servers in
      servers.capulet.open("montague.example")
      guard case .failed(let failure)? = await servers.capulet.owner.next() else {
        Issue.record("it was opened")
        return
      }
      #expect(failure.reason.hasPrefix("the server said policy-violation"))
    }
  }

  @Test func failuresSayWhetherTryingAgainHelps() async throws {
    try await withServers { servers in
      servers.capulet.open("verona.example")
      #expect(
        await servers.capulet.owner.next()
          == .failed(OpenFailure(isFinal: true, reason: "there is no such domain")))
      await servers.montague.listener.stopAccepting()
      servers.capulet.open("montague.example")
      #expect(await servers.capulet.owner.next() == .failed(OpenFailure(isFinal: false, reason: "refused")))
    }
  }

  /// XEP-0198: a server that acknowledges nothing is not written to for ever.
  @Test func soManyStanzasWaitForTheirAcknowledgement() async throws {
    try await withServers { servers in
      servers.montague.owner.holdBack()
      servers.capulet.open("montague.example")
      #expect(await servers.capulet.owner.next() == .opened(Self.out, mayWrite: true, isCertified: true))
      #expect(await servers.montague.owner.next() == .opened(Self.back, mayWrite: true, isCertified: true))
      let (outgoing, incoming) = (
        try #require(servers.capulet.owner.last), try #require(servers.montague.owner.last)
      )
      for _ in 0..<FederationStreamLimits.unacknowledgedMax {
        _ = try await outgoing.say("hail", from: "juliet@capulet.example", to: "romeo@montague.example")
      }
      #expect(try await incoming.say("hello", from: "romeo@montague.example", to: "juliet@capulet.example"))
      #expect(await servers.capulet.owner.next() == .received("hello", of: Self.out))
      _ = try await outgoing.say("hail", from: "juliet@capulet.example", to: "romeo@montague.example")
      #expect(await servers.capulet.owner.next() == .closed([Self.out]))
    }
  }

  /// XEP-0198: what the other side has not handled is not acknowledged; a stanza behind it waits for it.
  @Test func onlyWhatWasHandledIsAcknowledged() async throws {
    try await withServers { servers in
      let (capulet, montague) = (servers.capulet, servers.montague)
      capulet.open("montague.example")
      _ = await capulet.owner.next()
      _ = await montague.owner.next()
      montague.owner.holdBack()
      let (outgoing, incoming) = (try #require(capulet.owner.last), try #require(montague.owner.last))
      for text in ["one", "two"] {
        #expect(try await outgoing.say(text, from: "juliet@capulet.example", to: "romeo@montague.example"))
        #expect(await montague.owner.next() == .received(text, of: Self.back))
      }
      incoming.run { $0.handled() }
      #expect(await capulet.owner.next() == .acknowledged(1, of: Self.out))
      incoming.run { $0.handled() }
      #expect(await capulet.owner.next() == .acknowledged(1, of: Self.out))
    }
  }

  /// XEP-0478: a stanza above the other side's limit is not sent, and the stream goes on.
  @Test func aStanzaThatIsTooLongIsNotSent() async throws {
    try await withServers { servers in
      let (capulet, montague) = (servers.capulet, servers.montague)
      capulet.open("montague.example")
      _ = await capulet.owner.next()
      _ = await montague.owner.next()
      let outgoing = try #require(capulet.owner.last)
      let long = String(repeating: "x", count: FederationLimits.stanzaBytesMax)
      #expect(try await !outgoing.say(long, from: "juliet@capulet.example", to: "romeo@montague.example"))
      // Nor is one that has more records than the other side reads.
      for (count, isSent) in [(8_000, true), (8_100, false)] {
        let items = String(repeating: "<x a=''/>", count: count)
        let address = "from='juliet@capulet.example' to='romeo@montague.example'"
        let message = Array("<message \(address)><body>many</body>\(items)</message>".utf8)
        let isWritten = try await outgoing.loop.submit { outgoing.stream?.write { $0.raw(message) } }.get()
        #expect(isWritten == isSent)
      }
      #expect(try await outgoing.say("short", from: "juliet@capulet.example", to: "romeo@montague.example"))
      #expect(await montague.owner.next() == .received("many", of: Self.back))
      #expect(await montague.owner.next() == .received("short", of: Self.back))
      // The incoming stream has the limit of <bidi/>.
      let incoming = try #require(montague.owner.last)
      #expect(try await !incoming.say(long, from: "romeo@montague.example", to: "juliet@capulet.example"))
    }
  }

  // MARK: A peer that misbehaves

  private func raw(_ servers: Servers) async throws -> RawServer {
    try await RawServer(servers.network.group, port: try servers.network.port(of: "montague.example"))
  }

  private static let header = RawServer.header()
  private static let long = String(repeating: "x", count: 10_240)
  private static let bomb =
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><x>&b;</x>"
  private static let message = "<message from='a@capulet.example' to='b@montague.example'/>"
  private static let auth = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>=</auth>"
  private static let deep = String(repeating: "<x>", count: 20)

  private static let wrongInput: [(String, String)] = [
    (bomb, "restricted-xml"), ("\(header)\(message)", "policy-violation"), ("\(header)\(auth)", "policy-violation"),
    ("\(header)<x>\(long)", "stanza-too-big"), ("\(header)<x a='\(long)", "stanza-too-big"),
    ("\(header)\(deep)", "policy-violation"), (RawServer.header(from: long), "policy-violation"),
    (RawServer.header(from: "rooms.montague.example"), "invalid-from"),
    (RawServer.header(to: "verona.example"), "host-unknown"), ("GET / HTTP/1.1\r\n\r\n", "not-well-formed"),
  ]

  @Test(arguments: wrongInput)
  func wrongInputInTheClearIsAnswered(_ input: String, condition: String) async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      peer.pour(input)
      let answer = await peer.read(to: "never")
      #expect(answer.contains("<\(condition) "), "\(answer.prefix(400))")
      #expect(servers.montague.listener.unverifiedCount == 0)
    }
  }

  @Test func aStanzaThatIsTooLongEndsAVerifiedStream() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      try await peer.authenticate()
      #expect(await servers.montague.owner.next() == .opened(Self.back, mayWrite: false, isCertified: true))
      func message(_ count: Int) -> String {
        "<message from='a@capulet.example' to='b@montague.example'><body>\(String(repeating: "x", count: count))</body></message>"
      }
      peer.pour(message(200_000))
      #expect(
        await servers.montague.owner.next() == .received(String(repeating: "x", count: 200_000), of: Self.back))
      peer.pour(message(FederationLimits.stanzaBytesMax))
      #expect(await peer.read(to: "never").contains("stanza-too-big"))
      #expect(await servers.montague.owner.next() == .closed([Self.back]))
    }
  }

  @Test func aStanzaThatIsNotCompleteInTimeEndsAVerifiedStream() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      try await peer.authenticate()
      #expect(await servers.montague.owner.next() == .opened(Self.back, mayWrite: false, isCertified: true))
      let begin = "<message from='a@capulet.example' to='b@montague.example'><body>"
      let (place, start) = (servers.montague.place, NIODeadline.now())
      func tick(at times: [TimeAmount]) async throws {
        try await place.loop.submit {
          for time in times {
            for server in place.loopContext.value.allServers { server.tick(start + time) }
          }
        }.get()
      }
      let time = DoorLimits.stanzaTime
      try await peer.send(begin + "one</body></message>" + begin)
      #expect(await servers.montague.owner.next() == .received("one", of: Self.back))
      try await tick(at: [.seconds(0), time - .seconds(1)])
      try await peer.send("two</body></message>" + begin)
      #expect(await servers.montague.owner.next() == .received("two", of: Self.back))
      try await tick(at: [time, time + time])
      #expect(await peer.read(to: "not complete in time").contains("<policy-violation "))
      #expect(await servers.montague.owner.next() == .closed([Self.back]))
    }
  }

  /// RFC 6120 5.4.3.3: somebody in between could have put it there.
  @Test func whatComesInTheClearBehindStartTLSCountsForNothing() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      let injected = Self.header + Self.auth + Self.header + Self.message
      #expect(try await peer.secure(as: "capulet.example", injected: injected).contains("EXTERNAL"))
      try await peer.send(Self.auth)
      #expect(await peer.read(to: "<success").contains("<success"))
      try await peer.send(Self.header)
      _ = await peer.read(to: "</stream:features>")
      #expect(await servers.montague.owner.next() == .opened(Self.back, mayWrite: false, isCertified: true))
      try await peer.send(
        "<message from='a@capulet.example' to='b@montague.example'><body>over TLS</body></message>")
      #expect(await servers.montague.owner.next() == .received("over TLS", of: Self.back))
    }
  }

  /// The same to the server that has connected: an attacker answers in the name of the other one, up to TLS.
  @Test func whatComesInTheClearBehindProceedCountsForNothing() async throws {
    try await withServers { servers in
      let (port, peers) = try await RawServer.listen(servers.network.group)
      servers.network.redirect("montague.example", to: port)
      servers.capulet.open("montague.example")
      var arrivals = peers.makeAsyncIterator()
      let peer = try #require(await arrivals.next())
      let tls = "urn:ietf:params:xml:ns:xmpp-tls"
      let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
      let header = RawServer.header(from: "montague.example", to: "capulet.example")
        .replacing(" from=", with: " id='1' from=")
      let external = "<mechanisms xmlns='\(sasl)'><mechanism>EXTERNAL</mechanism></mechanisms>"
      let success = "<success xmlns='\(sasl)'/>"
      _ = await peer.read(to: "<stream:stream")
      try await peer.send("\(header)<stream:features><starttls xmlns='\(tls)'/></stream:features>")
      #expect(await peer.read(to: "<starttls").contains("<starttls"))
      try await peer.acceptTLS(
        as: "montague.example",
        behind: "<proceed xmlns='\(tls)'/>\(header)<stream:features>\(external)</stream:features>\(success)")
      // A stream of its own, in which nothing has been offered.
      let opening = await peer.read(to: "<stream:stream")
      #expect(opening.contains("<stream:stream") && !opening.contains("<auth"))
      try await peer.send("\(header)<stream:features>\(external)</stream:features>")
      #expect(await peer.read(to: "<auth").contains("EXTERNAL"))
      try await peer.send(success)
      #expect(await peer.read(to: "<stream:stream").contains("<stream:stream"))
      try await peer.send("\(header)<stream:features/>")
      #expect(
        await servers.capulet.owner.next() == .opened(Self.out, mayWrite: true, isCertified: true))
    }
  }

  /// XEP-0220 2.2.1, XEP-0344 2.4: further domains of the peer by its certificate; those that it is not good for are
  /// refused, and the stream goes on.
  @Test func furtherPairsComeByDialback() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      try await peer.authenticate()
      _ = await servers.montague.owner.next()
      try await peer.send("<db:result from='rooms.capulet.example' to='montague.example'>k</db:result>")
      #expect(await peer.read(to: "</db:result>").contains("type='valid'"))
      #expect(
        await servers.montague.owner.next()
          == .opened(
            DomainPair(local: "montague.example", remote: "rooms.capulet.example"), mayWrite: false, isCertified: true))
      try await peer.send("<db:result from='verona.example' to='montague.example'>k</db:result>")
      #expect(await peer.read(to: "</db:result>").contains("not-authorized"))
      try await peer.send("<message from='a@verona.example' to='b@montague.example'/>")
      #expect(await peer.read(to: "never").contains("<invalid-from "))
    }
  }

  @Test func aForgedKeyIsRefused() async throws {
    try await withServers(certified: false, Self.believing) { servers in
      let peer = try await raw(servers)
      let features = try await peer.secure(as: "montague.example")
      #expect(!features.contains("EXTERNAL") && features.contains("urn:xmpp:features:dialback"))
      try await peer.send("<db:result from='capulet.example' to='montague.example'>forged</db:result>")
      #expect(await peer.read(to: "never").contains("type='invalid'"))
    }
  }

  @Test func aDomainThatCannotBeAskedIsNotVerified() async throws {
    try await withServers(certified: false, Self.believing) { servers in
      let peer = try await raw(servers)
      _ = try await peer.secure(as: "montague.example", from: "verona.example")
      try await peer.send("<db:result from='verona.example' to='montague.example'>key</db:result>")
      #expect(await peer.read(to: "</db:result>").contains("remote-server-not-found"))
      await servers.capulet.listener.stopAccepting()
      try await peer.send("<db:result from='capulet.example' to='montague.example'>key</db:result>")
      #expect(await peer.read(to: "</db:result>").contains("remote-server-timeout"))
    }
  }

  /// RFC 6120 13.12: what one address can hold open is bounded, and is free again when it ends.
  @Test func unverifiedStreamsOfOneAddressAreBounded() async throws {
    try await withServers { servers in
      var peers: [RawServer] = []
      for _ in 0..<FederationLimits.unverifiedPerAddressMax {
        let peer = try await raw(servers)
        peer.pour(RawServer.header())
        peers.append(peer)
      }
      // It comes before the others are read: on a loaded machine the first would be old enough to give its place up.
      let refused = try await raw(servers)
      refused.pour(RawServer.header())
      #expect(await refused.read(to: "</stream:features>") == "")
      // Read together: one after the other on a loaded machine, the first would reach its time to authenticate.
      for peer in peers { #expect(await peer.read(to: "</stream:features>").contains("<starttls")) }
      try await peers[0].send("</stream:stream>")
      _ = await peers[0].read(to: "never")
      let admitted = try await raw(servers)
      try await admitted.send(RawServer.header())
      #expect(await admitted.read(to: "</stream:features>").contains("<starttls"))
    }
  }

  @Test func streamsOfOneDomainAreBounded() async throws {
    try await withServers { servers in
      var peers: [RawServer] = []
      for _ in 0..<FederationLimits.streamsPerDomainMax {
        let peer = try await raw(servers)
        try await peer.authenticate()
        peers.append(peer)
      }
      #expect(try await raw(servers).secure(as: "capulet.example").contains("<resource-constraint "))
      try await peers[0].send("</stream:stream>")
      _ = await peers[0].read(to: "never")
      try await raw(servers).authenticate()
    }
  }

  /// A peer that reads nothing is disconnected at the bound; what was to arrive is kept by others.
  @Test func aPeerThatDoesNotReadIsDisconnected() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      #expect(try await peer.secure(as: "capulet.example").contains("bidi"))
      try await peer.send(
        "<bidi xmlns='urn:xmpp:bidi'/><auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>=</auth>")
      _ = await peer.read(to: "<success")
      try await peer.send(RawServer.header())
      _ = await peer.read(to: "</stream:features>")
      #expect(await servers.montague.owner.next() == .opened(Self.back, mayWrite: true, isCertified: true))
      try await peer.stopReading()
      let stream = try #require(servers.montague.owner.last)
      let text = String(repeating: "x", count: 100_000)
      // The bound, and what the system's buffers take.
      for _ in 0..<500 {
        guard try await stream.say(text, from: "a@montague.example", to: "b@capulet.example") else { break }
      }
      #expect(await servers.montague.owner.next() == .closed([Self.back]))
    }
  }

  /// XEP-0198 6: more is acknowledged than was sent.
  @Test func aPeerThatAcknowledgesTooMuchIsDisconnected() async throws {
    try await withServers { servers in
      let peer = try await raw(servers)
      try await peer.authenticate()
      _ = await servers.montague.owner.next()
      try await peer.send("<enable xmlns='urn:xmpp:sm:3'/><a xmlns='urn:xmpp:sm:3' h='1'/>")
      #expect(await peer.read(to: "never").contains("handled-count-too-high"))
      #expect(await servers.montague.owner.next() == .closed([Self.back]))
    }
  }

  // MARK: Time

  private func embedded(
    _ body: (EmbeddedChannel, EmbeddedEventLoop) throws -> Void
  ) throws {
    let network = try ServerNetwork()
    let loop = EmbeddedEventLoop()
    let loopContext = LoopContext(loop: loop, Metrics())
    let place = MountedLoop(
      loop: loop, lane: loopContext.lane, loopContext: NIOLoopBound(loopContext, eventLoop: loop))
    let side = ServerSide("montague.example", network, place: place)
    let channel = EmbeddedChannel(loop: loop)
    let connection = ServerConnection(
      side.streams, loopContext: place.loopContext.value,
      .accepted(side.owner, isDirectTLS: false) {}, peer: "test")
    try channel.pipeline.syncOperations.addHandler(connection)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5269)).wait()
    try body(channel, loop)
    _ = try? channel.finish()
    network.group.shutdownGracefully { _ in }
  }

  private func output(_ channel: EmbeddedChannel) throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  @Test func aHalfOpenStreamEndsInTime() throws {
    try embedded { channel, loop in
      try channel.writeInbound(ByteBuffer(string: RawServer.header()))
      #expect(try output(channel).contains("<starttls"))
      loop.advanceTime(by: FederationLimits.negotiation - .seconds(1))
      #expect(channel.isActive)
      #expect(try output(channel) == "")
      loop.advanceTime(by: .seconds(1))
      #expect(try output(channel).contains("<connection-timeout "))
      #expect(!channel.isActive)
    }
  }

  @Test func bytesPerSecondAreBounded() throws {
    try embedded { channel, loop in
      try channel.writeInbound(ByteBuffer(string: RawServer.header()))
      _ = try output(channel)
      let space = ByteBuffer(bytes: Array(repeating: 0x20, count: Limits.sendingDomainBytes.burst + 1024 * 1024))
      try channel.writeInbound(space)
      try channel.writeInbound(ByteBuffer(string: "<x/>"))
      #expect(try output(channel) == "")
      loop.advanceTime(by: .milliseconds(900))
      #expect(try output(channel) == "")
      loop.advanceTime(by: .milliseconds(200))
      #expect(try output(channel).contains("<policy-violation "))
    }
  }
}
