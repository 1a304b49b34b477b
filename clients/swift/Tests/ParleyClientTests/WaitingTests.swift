import Foundation
import Testing

@testable import ParleyClient

/// Tests of waits for a network or a server that answers nothing, and of waits at the end of a client or a login.
struct WaitingTests {
  /// The storage of somebody who is signed in and has a place in the log.
  func signedIn() async throws -> MemoryStorage {
    let storage = MemoryStorage()
    let user = try JSON.decode(User.self, from: Data(EventTests.user.utf8))
    let session = Session(accessToken: "old", refreshToken: "older", user: user, deviceId: "x")
    try await storage.write([
      StorageChange("state", "session", JSON.encode(session)), StorageChange("state", "cursor", JSON.encode("c")),
    ])
    return storage
  }

  func client(
    _ transport: any Transport, _ storage: MemoryStorage, requestTimeout: Duration = .seconds(90)
  ) throws -> Parley {
    try Parley(
      url: #require(URL(string: "http://localhost:1")), storage: storage, requestTimeout: requestTimeout,
      transport: transport)
  }

  @Test("What is never answered fails with `network` after its time: a request, what a view asks for, a connection")
  func requests() async throws {
    let parley = try client(SilentTransport(), try await signedIn(), requestTimeout: .milliseconds(50))
    let error = await refuses("network") { _ = try await parley.me() }
    #expect(error?.isTemporary == true)
    #expect(error?.detail == "No answer to GET /v1/users/me: It took too long.")
    let view = try await parley.view("d1")
    for await _ in await view.changes() {
      if await view.error != nil { break }
    }
    #expect(await view.error?.code == "network")
    let events = await parley.events()
    let connecting = Task { try await parley.connect() }
    let lost = try await next(events) { if case .connection(.waiting, let error) = $0 { error } else { nil } }
    #expect(lost.code == "network")
    await parley.close()
    _ = await refuses("aborted") { try await connecting.value }
  }

  @Test("A command that is never answered fails with its connection")
  func commands() async throws {
    let parley = try client(SilentTransport(opens: true), try await signedIn(), requestTimeout: .milliseconds(50))
    let events = await parley.events()
    try await parley.connect()
    _ = await refuses("network") { _ = try await parley.command("ping", [:]) }
    try await next(events) { if case .connection(.waiting, _) = $0 { true } else { nil } }
    await parley.close()
  }

  @Test("Closing ends what waits for the outbox, which keeps its messages")
  func closing() async throws {
    let storage = try await signedIn()
    let parley = try client(SilentTransport(), storage)
    let events = await parley.events()
    let once = NewMessage(text: "But soft", clientId: "once")
    let both = (0..<2).map { _ in Task { try await parley.sendNow("d1", once) } }
    try await next(events) { if case .outbox = $0 { true } else { nil } }
    let sent = Task { try await parley.sent() }
    await parley.close()
    var codes: [String] = []
    for each in both {
      do { _ = try await each.value } catch { codes.append(ParleyError.of(error).code) }
    }
    #expect(codes.sorted() == ["client-id-reused", "closed"])
    _ = await refuses("closed") { try await sent.value }
    #expect(await storage.all("outbox").count == 1)
  }

  @Test("The end of a login closes the views, also one without its first answer, and ends what waits for the outbox")
  func ended() async throws {
    let parley = try client(SilentTransport(refuses: true), try await signedIn())
    let events = await parley.events()
    let view = try await parley.view("d1")
    let changes = await view.changes()
    let fresh = Task { try await view.fresh() }
    let sending = Task { try await parley.sendNow("d1", "But soft") }
    try await next(events) { if case .outbox = $0 { true } else { nil } }
    _ = await refuses("refresh-token-invalid") { _ = try await parley.me() }
    for await _ in changes {}
    #expect(await parley.viewCount == 0)
    #expect(await view.messages.isEmpty)
    _ = await refuses("aborted") { try await fresh.value }
    _ = await refuses("refresh-token-invalid") { _ = try await sending.value }
    // The same user's next login sends it.
    #expect(await parley.outbox.map(\.content.text) == ["But soft"])
    _ = await refuses("signed-out") { try await parley.sent() }
    await parley.close()
  }

  @Test("Signing out ends the wait for the outbox")
  func signingOut() async throws {
    let parley = try client(SilentTransport(), try await signedIn(), requestTimeout: .milliseconds(50))
    try await parley.send("d1", "But soft")
    let sent = Task { try await parley.sent() }
    while await !parley.isDraining { await Task.yield() }
    try await parley.signOut()
    try await sent.value
    #expect(await parley.outbox.isEmpty)
    await parley.close()
  }

  @Test("A second reader of one sequence of events ends the first")
  func readers() async throws {
    let parley = try client(SilentTransport(), try await signedIn())
    let events = await parley.events()
    let first = Task { await events.token.next() }
    while await !parley.isRead { await Task.yield() }
    let second = Task { await events.token.next() }
    if await first.value != nil { Issue.record("the first reader has an event") }
    await parley.close()
    if await second.value != nil { Issue.record("the second reader has an event") }
  }
}

extension Parley {
  var viewCount: Int { views.count }
  /// Whether somebody waits in `sent`.
  var isDraining: Bool { !drained.isEmpty }
  /// Whether somebody waits for an event.
  var isRead: Bool { subscriptions.values.contains { $0.reader != nil } }
}

/// A network on which nothing is answered. `opens`: but the beginning of a connection. `refuses`: but requests for oneself and for
/// tokens, which say that the login has ended.
struct SilentTransport: Transport {
  var opens = false
  var refuses = false

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let path = request.url.path
    if refuses, path == "/v1/users/me" || path == "/v1/sessions" {
      let code = path == "/v1/sessions" ? "refresh-token-invalid" : "token-expired"
      return HTTPResponse(status: 401, headers: [:], body: Data(#"{"code":"\#(code)","title":"T"}"#.utf8))
    }
    try await never()
  }

  func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
    if opens { return MuteSocket() }
    try await never()
  }

  /// Waits until the task is cancelled.
  private func never() async throws -> Never {
    let (nothing, holder) = AsyncStream<Void>.makeStream()
    for await _ in nothing {}
    withExtendedLifetime(holder) {}
    throw CancellationError()
  }
}

/// Says that nothing was missed, and then nothing.
actor MuteSocket: WebSocket {
  private var frames: [String] = []
  private var reader: CheckedContinuation<String, any Error>?
  private var isClosed = false

  func send(_ text: String) {
    guard text.contains(#""hello""#) else { return }
    say(#"{"re":"1","data":{}}"#)
    say(#"{"type":"caught_up","data":{"cursor":"c","totalUnread":0,"totalMentions":0}}"#)
  }

  private func say(_ text: String) {
    guard let reader else { return frames.append(text) }
    self.reader = nil
    reader.resume(returning: text)
  }

  func receive() async throws -> String {
    if !frames.isEmpty { return frames.removeFirst() }
    if isClosed { throw ParleyError.network("closed") }
    return try await withCheckedThrowingContinuation { reader = $0 }
  }

  func close(code: UInt16) {
    isClosed = true
    reader?.resume(throwing: ParleyError.network("closed"))
    reader = nil
  }
}
