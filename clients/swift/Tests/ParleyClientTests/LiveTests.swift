import Foundation
import Testing

@testable import ParleyClient

@Suite(.serialized, .enabled(if: Control.url != nil))
struct LiveTests {
  @Test("Signing in: a password, a guest, a code, a second factor, an identity of the app's backend")
  func signingIn() async throws {
    let stranger = try Control.client()
    let wrong = await refuses("wrong-credentials") {
      try await stranger.signIn(.password(username: "romeo", password: "wrong"))
    }
    #expect(wrong?.status == 401 && wrong?.isTemporary == false)
    _ = await refuses("signed-out") { _ = try await stranger.me() }
    _ = await refuses("signed-out") { try await stranger.connect() }
    try await stranger.signIn(.guest)
    #expect(try await stranger.me().guest == true)
    try await stranger.connect()
    try await stranger.signOut()
    #expect(try await stranger.info().grants.contains("password"))

    let viola = try Control.client()
    #expect(try await viola.signUp(username: "viola", password: Control.password, name: "Viola").name == "Viola")
    try await viola.sendMyCode(email: "viola@illyria.example")
    let code = try #require(try await Control.ask("letter")["code"]?.string)
    try await viola.setMyEmail("viola@illyria.example", code: code, password: Control.password)
    let again = try Control.client()
    try await again.sendCode(email: "viola@illyria.example")
    let second = try #require(try await Control.ask("letter")["code"]?.string)
    #expect(try await again.signIn(.code(email: "viola@illyria.example", code: second)).id == "viola")

    let secret = try #require(try await viola.beginSecondFactor(password: Control.password).secret)
    let totp = try #require(try await Control.ask("totp", ["secret": .string(secret)])["code"]?.string)
    let recovery = try await viola.confirmSecondFactor(totp)
    let asked = await refuses("second-factor-required") {
      try await again.signIn(.password(username: "viola", password: Control.password))
    }
    #expect(asked?.secondFactor == "totp")
    let challenge = try #require(asked?.challenge)
    #expect(try await again.signIn(.secondFactor(challenge: challenge, recoveryCode: recovery[0])).id == "viola")

    let cesario = try await Control.client().signIn(
      .identity { nonce in
        let body: JSONObject = ["nonce": .string(nonce), "prn": "cesario@illyria.example", "name": "Cesario"]
        return try await Control.ask("vouch", body)["token"]?.string ?? ""
      })
    #expect(cesario.name == "Cesario")
  }

  @Test("A message climbs the ladder; slixmpp answers and says that it has read")
  func ladder() async throws {
    try await Control.ask("arrive")
    let romeo = try await Control.person("romeo")
    let talk = try await romeo.openPrivate("nurse")
    let view = try await romeo.view(talk.id)
    try await view.fresh()
    let events = await romeo.events()
    let sending = try await view.send("But soft")
    #expect(sending.status == .sending)
    try await sees(view) { $0.first { $0.key == sending.key && $0.status == .read } }
    #expect(try await hears(events, ["heard: But soft"]) == ["heard: But soft"])
    #expect(await view.messages.filter { $0.content.text == "But soft" }.count == 1)
    #expect(await romeo.outbox.isEmpty)

    let long = try await view.send(String(repeating: "x", count: 10_001))
    let short = try await view.send("short")
    let failed = try await sees(view) { $0.first { $0.key == long.key && $0.status == .failed } }
    #expect(failed.error?.code == "text-too-long")
    try await sees(view) { $0.first { $0.key == short.key && $0.status != .sending } }
    try await romeo.discard(long.key)
    let refused = await refuses("content-type-unknown") {
      try await romeo.sendNow(talk.id, NewMessage(content: NewContent(["type": "rose"])))
    }
    #expect(refused?.field != nil && refused?.status == 400)
    #expect(await romeo.outbox.isEmpty)
    // The changes of a view end with the client.
    let changes = await view.changes()
    await romeo.close()
    for await _ in changes {}
  }

  @Test("Edits, reactions, replies, pins, stars, searches, deletions, typing, presence, history in pages")
  func talking() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let talk = try await romeo.openPrivate("juliet").id
    let view = try await juliet.view(talk)
    try await view.fresh()
    let said = try await romeo.sendNow(
      talk, NewMessage(text: "Good nigth @juliet", mentions: [Mention(userId: "juliet", begin: 11, end: 18)]))
    func shown(_ test: (LocalMessage) -> Bool) async throws {
      try await sees(view) { $0.first { $0.message.id == said.id && test($0) } }
    }
    try await shown { $0.mentions?.count == 1 }
    try await romeo.edit(talk, said.id, "Good night")
    try await shown { $0.editedAt != nil && $0.content.text == "Good night" }
    #expect(try await romeo.listEdits(talk, said.id).items.count == 2)
    let reacted = try await juliet.toggleReaction(said, "🌙")
    #expect(reacted.reactions == ["🌙": ["juliet"]])
    #expect(try await juliet.toggleReaction(reacted, "🌙").reactions == nil)
    let reply = try await juliet.sendNow(talk, NewMessage(text: "Sleep well", replyTo: said.id))
    #expect(reply.replyTo == said.id)
    try await juliet.pin(talk, said.id)
    #expect(try await romeo.listPins(talk).items.map(\.id) == [said.id])
    try await juliet.star(talk, said.id)
    #expect(try await juliet.listStars().items.first?.id == said.id)
    #expect(try await juliet.searchMessages(query: "sleep").items.first?.id == reply.id)
    try await romeo.deleteMessage(talk, said.id, for: .everyone)
    try await shown { $0.content.type == .deleted }
    try await juliet.deleteMessage(talk, reply.id, for: .me)
    try await sees(view) { $0.contains { $0.message.id == reply.id } ? nil : true }

    let events = await juliet.events()
    await romeo.setTyping(talk, true)
    try await next(events) { if case .typing(_, ["romeo"]) = $0 { true } else { nil } }
    #expect(await juliet.typingIn(talk) == ["romeo"])
    await romeo.setPresence(.doNotDisturb)
    try await next(events) {
      if case .presence(let presence) = $0, presence.availability == .doNotDisturb { true } else { nil }
    }
    #expect(try await juliet.listContacts().items.contains { $0.userId == "romeo" && $0.state == .mutual })
    #expect(try await juliet.getUser("romeo")?.id == "romeo")
    #expect(try await juliet.getUser("nobody") == nil)
    #expect(try await romeo.shareLocation(latitude: 45.4386, longitude: 10.9928, ttl: 600) > Date())
    try await romeo.endSharingLocation()

    let group = try await romeo.createDialog(.group, name: "Orchard", memberIds: ["juliet"]).id
    for line in 0..<50 { try await romeo.send(group, "line \(line)") }
    try await romeo.sent()
    let pages = try await juliet.view(group, limit: 20)
    try await pages.fresh()
    // A second reader waits for the first.
    async let first = pages.loadOlder(limit: 20)
    try await pages.loadOlder(limit: 20)
    #expect(await pages.messages.count == 40)
    #expect(try await first)
    while try await pages.loadOlder(limit: 20) {}
    let lines = await pages.messages.filter { $0.content.type == .text }
    #expect(lines.map(\.content.text) == (0..<50).map { "line \($0)" })
    try await pages.jump(lines[5].message.id, limit: 10)
    #expect(await pages.hasNewer)
    while try await pages.loadNewer(limit: 20) {}
    #expect(await pages.messages.last?.content.text == "line 49")
    // A view that jumps at once has its first answer all the same, and stays where it has jumped.
    let early = try await juliet.view(group, limit: 10)
    try await early.jump(lines[5].message.id, limit: 4)
    try await early.fresh()
    #expect(await early.hasNewer)
    #expect(await early.messages.map(\.message.id).contains(lines[5].message.id))
    await early.close()
    // A jump overtakes the first answer, which still has the rest.
    let led = try await juliet.view(group, limit: 20)
    try await led.jump(lines[5].message.id, limit: 2)
    try await led.fresh()
    #expect(await led.messages.map(\.content.text) == ["line 4", "line 5", "line 6"])
    try await romeo.removeMember(group, "juliet")
    if await juliet.dialogs.contains(where: { $0.id == group }) {
      try await next(events) { if case .dialogs(let ids) = $0, ids?.contains(group) == true { true } else { nil } }
    }
    await romeo.close()
    await juliet.close()
  }

  @Test("kill -9 in the middle: nothing is lost, nothing comes twice")
  func kill() async throws {
    let (mercutio, benvolio) = (try await Control.person("mercutio"), try await Control.person("benvolio"))
    let talk = try await mercutio.openPrivate("benvolio").id
    let said = (0..<60).map { "kill \($0)" }
    let events = await benvolio.events()
    async let heard = hears(events, said)
    async let killed = Control.ask("restart")
    for line in said { try await mercutio.send(talk, line) }
    _ = try await killed
    try await mercutio.sent()
    #expect(try await heard == said)
    await mercutio.close()
    await benvolio.close()
  }

  @Test("A lost answer: the message is repeated, and there once; over the WebSocket and as a request")
  func lost() async throws {
    let network = try LossyTransport()
    let (mercutio, benvolio) = (
      try await Control.person("mercutio", MemoryStorage(), network), try await Control.person("benvolio")
    )
    let talk = try await mercutio.openPrivate("benvolio").id
    let said = (0..<8).map { "lost \($0)" }
    let events = await benvolio.events()
    async let heard = hears(events, said)
    await network.lose(3, "\"lost ")
    for line in said { try await mercutio.send(talk, line) }
    try await mercutio.sent()
    #expect(try await heard == said)
    #expect(await network.left == 0)
    await mercutio.disconnect()
    await network.lose(2, "by request")
    let sent = try await mercutio.sendNow(talk, "by request")
    #expect(await network.left == 0)
    #expect(
      try await benvolio.listMessages(talk).items.filter { $0.content.text == "by request" }.map(\.id) == [sent.id])
    let reused = NewMessage(text: "another text", clientId: sent.clientId)
    _ = await refuses("client-id-reused") { try await mercutio.sendNow(talk, reused) }
    await mercutio.close()
    await benvolio.close()
  }

  @Test("A lost answer to a refresh of the tokens: the login goes on; and a view is one request")
  func lostRefresh() async throws {
    let network = try LossyTransport()
    let paris = try Control.client(MemoryStorage(), network)
    try await paris.signIn(.password(username: "paris", password: Control.password))
    await paris.spendToken()
    await network.lose(1, "\"refresh\"")
    #expect(try await paris.me().id == "paris")
    #expect(await network.left == 0)
    let talk = try await paris.openPrivate("rosaline")
    let before = await network.sent.count
    let view = try await paris.view(talk.id)
    try await view.fresh()
    #expect(await Array(network.sent.dropFirst(before)) == ["GET /v1/dialogs/\(talk.id)/messages "])
    // A first answer that is lost is asked for again, though nothing is connected.
    await network.lose(1, "/messages ")
    let again = try await paris.view(talk.id)
    try await again.fresh()
    #expect(await network.left == 0)
    try await paris.signOut()
  }

  @Test(
    "Without a network messages wait in a file, over a restart of the program, and are sent once; what was missed comes by cursor"
  )
  func restart() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).store")
    defer { try? FileManager.default.removeItem(at: file) }
    let network = try LossyTransport()
    let benvolio = try await Control.person("benvolio")
    let tybalt = try await Control.person("tybalt", FileStorage(file), network)
    let talk = try await tybalt.openPrivate("benvolio").id
    try await tybalt.sendNow(talk, "first")
    await network.down()
    #expect(try await tybalt.openPrivate("benvolio").id == talk)
    #expect(try await tybalt.send(talk, "kept").status == .sending)
    await tybalt.close()
    try await benvolio.sendNow(talk, "meanwhile")

    let again = try Control.client(FileStorage(file), network)
    #expect(try await again.open())
    #expect(await again.outbox.map(\.content.text) == ["kept"])
    let events = await again.events()
    async let connected: Void = again.connect()
    try await next(events) { if case .connection(.waiting, _) = $0 { true } else { nil } }
    await network.up()
    await again.wake()
    try await connected
    let missed = try await next(events) { event -> Bool? in
      if case .message(let message, isOwn: false, let isReplay) = event, message.content.text == "meanwhile" {
        isReplay
      } else {
        nil
      }
    }
    #expect(missed)
    try await again.sent()
    let own = try await again.listMessages(talk).items.filter { $0.senderId == "tybalt" }.map(\.content.text)
    #expect(own == ["kept", "first"])
    await again.close()

    // An event that is not handled when the program ends is told again.
    let third = try Control.client(FileStorage(file))
    let unhandled = await third.events()
    try await third.connect()
    try await benvolio.sendNow(talk, "unhandled")
    try await next(unhandled) {
      if case .message(let message, _, _) = $0, message.content.text == "unhandled" { true } else { nil }
    }
    await third.close()
    withExtendedLifetime(unhandled) {}
    let fourth = try Control.client(FileStorage(file))
    let told = await fourth.events()
    try await fourth.connect()
    #expect(try await hears(told, ["unhandled"]).contains("unhandled"))
    await fourth.close()
    await benvolio.close()
  }

  @Test("An unknown cursor: everything is fetched anew, and followed from there")
  func resync() async throws {
    let storage = MemoryStorage()
    let (rosaline, paris) = (try await Control.person("rosaline", storage), try await Control.person("paris"))
    let talk = try await rosaline.openPrivate("paris").id
    await rosaline.close()
    await storage.write([StorageChange("state", "cursor", Data("\"of-another-server\"".utf8))])
    try await paris.sendNow(talk, "meanwhile")
    let again = try Control.client(storage)
    let events = await again.events()
    try await again.connect()
    #expect(try await next(events) { if case .resync(let reason) = $0 { reason } else { nil } } == "cursorUnknown")
    #expect(await again.dialogs.first { $0.id == talk }?.lastMessage?.content.text == "meanwhile")
    try await paris.sendNow(talk, "afterwards")
    #expect(try await hears(events, ["afterwards"]) == ["afterwards"])
    await again.close()
    await paris.close()
  }

  @Test(
    "A token that is no longer valid is replaced, once for all; a revoked login ends; the same device elsewhere stops the older client"
  )
  func tokens() async throws {
    let (network, storage) = (try LossyTransport(), MemoryStorage())
    let paris = try await Control.person("paris", storage, network)
    await paris.spoilToken()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { _ = try await paris.me() } }
      try await group.waitForAll()
    }
    await paris.disconnect()
    await paris.spoilToken()
    try await paris.connect()
    #expect(await network.sent.filter { $0.contains("\"refresh\"") }.count == 2)

    let other = try await Control.person("paris")
    let events = await other.events()
    try await paris.endOtherSessions()
    let error = try await next(events) { if case .session(signedIn: false, let error) = $0 { error } else { nil } }
    #expect(error.status == 401)
    _ = await refuses("signed-out") { _ = try await other.me() }

    let older = await paris.events()
    let copy = MemoryStorage()
    await copy.write([StorageChange("state", "session", await storage.get("state", "session"))])
    let newer = try Control.client(copy)
    try await newer.connect()
    let stopped = try await next(older) { if case .connection(.stopped, let error) = $0 { error } else { nil } }
    #expect(stopped.code == "session-replaced")
    await newer.close()
    await paris.close()
  }

  @Test("Uploads: in parts, with progress, a lost answer, cancelled, and in a message")
  func uploads() async throws {
    let network = try LossyTransport()
    let romeo = try await Control.person("romeo", MemoryStorage(), network)
    let bytes = Data((0..<1_200_000).map { UInt8($0 % 241) })
    await network.lose(1, "PATCH")
    let (progress, told) = AsyncStream<Int>.makeStream()
    let attachment = try await romeo.upload(FileInput(bytes, name: "rose.bin")) { done, _ in told.yield(done) }
    told.finish()
    var seen: [Int] = []
    for await done in progress { seen.append(done) }
    #expect(seen.count > 4 && seen.last == bytes.count && seen == seen.sorted())
    #expect(await network.left == 0)
    let address = try #require(attachment.url.flatMap { romeo.fileUrl($0) })
    let back = try await SystemTransport().send(HTTPRequest(method: "GET", url: address, headers: [], body: nil))
    #expect(back.body == bytes)

    let task = Task {
      try await romeo.upload(FileInput(bytes)) { done, _ in if done > 0 { withUnsafeCurrentTask { $0?.cancel() } } }
    }
    _ = await refuses("aborted") { _ = try await task.value }

    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).txt")
    try Data("A rose by any other name".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let talk = try await romeo.openPrivate("juliet").id
    let message = try await romeo.sendNow(
      talk, NewMessage(text: "Read", files: [FileInput(file, mediaType: "text/plain")]))
    #expect(message.content.type == .file && message.content.attachments?.first?.size == 24)
    await romeo.close()
  }

  @Test("A call's signalling: ringing, accepted, offer and answer and candidates in order, ended")
  func calls() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let (mine, hers) = (await romeo.events(), await juliet.events())
    let call = try await romeo.call(userId: "juliet", .audio)
    #expect(call.isMine && call.isHere && call.state.state == .ringing)
    let ringing = try await next(hers) { if case .call(let call) = $0 { call } else { nil } }
    #expect(!ringing.isMine && ringing.id == call.id)
    try await ringing.ringing()
    try await ringing.accept()
    try await next(mine) { if case .call(let call) = $0, call.state.state == .accepted { true } else { nil } }
    try await call.offer("v=0\r\n")
    for number in 0..<3 { try await call.candidate(["sdpMLineIndex": .integer(number)]) }
    var actions: [String] = []
    try await next(hers) { event -> Bool? in
      guard case .signal(_, let signal) = event else { return nil }
      actions.append(signal.action.rawValue + (signal.candidate?["sdpMLineIndex"]?.integer.map(String.init) ?? ""))
      return actions.count == 4 ? true : nil
    }
    #expect(actions == ["offer", "candidate0", "candidate1", "candidate2"])
    try await ringing.answer("v=0\r\n")
    try await next(mine) { if case .signal(_, let signal) = $0, signal.action == .answer { true } else { nil } }
    try await ringing.end()
    try await next(mine) { if case .call(let call) = $0, call.state.state == .ended { true } else { nil } }
    #expect(try await romeo.listCalls().isEmpty)
    await romeo.close()
    await juliet.close()
  }

  #if !canImport(Darwin)
    @Test("Over TLS: requests and the WebSocket; a certificate that nobody vouches for is refused")
    func tls() async throws {
      let url = try #require(Control.environment["PARLEY_TLS_URL"].flatMap { URL(string: $0) })
      let certificate = try #require(Control.environment["PARLEY_CERTIFICATE"])
      let trusting = try NIOTransport(trustRoots: certificate)
      let romeo = try Parley(url: url, transport: trusting)
      try await romeo.signIn(.password(username: "romeo", password: Control.password))
      try await romeo.connect()
      #expect(try await romeo.me().id == "romeo")
      await romeo.close()
      let careful = try Parley(url: url)
      _ = await refuses("network") { _ = try await careful.info() }
    }

    @Test("The transport names what it cannot do, and is not led elsewhere")
    func transport() async throws {
      let url = try #require(Control.url)
      let transport = try Control.transport()
      let control = try #require(Control.environment["PARLEY_CONTROL"].flatMap { URL(string: "\($0)/elsewhere") })
      // Linux's URLSession, told not to follow a redirection, gives no answer at all.
      if transport is NIOTransport {
        let moved = try await transport.send(
          HTTPRequest(method: "POST", url: control, headers: [], body: Data("{}".utf8)))
        #expect(moved.status == 307 && moved.headers["location"] == "/letter")
      }
      let nobody = try Parley(url: #require(URL(string: "http://127.0.0.1:9")), transport: transport)
      #expect(await refuses("network") { _ = try await nobody.info() }?.isTemporary == true)
      #if PARLEY_URLSESSION
        // Where this starts to work (a libcurl with WebSockets), URLSession takes the place of SwiftNIO in URLSessionRequests.
        let socket = try await URLSessionTransport().open(url, subprotocol: "parley.v1")
        await #expect(throws: (any Error).self) { _ = try await socket.receive() }
      #endif
    }
  #endif
}

extension Parley {
  /// As after an hour.
  func spoilToken() { session?.accessToken = "expired" }
}
