import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A scripted client of the app protocol: logs in over REST, then speaks over its WebSocket.
final class AppPlayer: Player {
  let role: Role
  let inbox: Inbox
  private let address: Address
  private let password: String
  private let loop: any EventLoop
  private let cursor = LastCursor()

  private struct State {
    var channel: (any Channel)?
    var token: String?
    var refresh: String?
    var device: String?
    var pings = 0
  }
  private let state = Mutex(State())

  init(role: Role, address: Address, password: String, loop: any EventLoop) {
    self.role = role
    self.address = address
    self.password = password
    self.loop = loop
    inbox = Inbox(loop: loop)
  }

  var isConnected: Bool { state.withLock { $0.channel?.isActive ?? false } }
  var token: String? { state.withLock { $0.token } }
  var lastCursor: String? { cursor.value }
  var device: String? { state.withLock { $0.device } }
  private var http: HTTPCall { HTTPCall(port: address.http, host: role.domain, loop: loop) }

  // MARK: REST

  /// A request with the player's token, if there is one.
  func call(_ method: String, _ path: String, body: String?) async throws -> HTTPCall.Answer {
    inbox.note(sent: "\(method) \(path) \(body ?? "")")
    let answer = try await http.send(method, path, body: body, token: token)
    inbox.note(answer: "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    return answer
  }

  /// Gets the token that all else needs. Done once: a login lasts.
  func logIn() async throws {
    if token != nil { return }
    var members: [JSONValue.Member] = [
      .init("grant", .string("password")), .init("username", .string(role.user)), .init("password", .string(password)),
    ]
    if let device = role.resource { members.append(.init("deviceId", .string(device))) }
    try await logIn(members)
  }

  /// Gets another token when time has passed, with the one for this.
  func renew() async throws {
    guard let refresh = state.withLock({ $0.refresh }) else { throw PlayerError("\(role.name) has not logged in") }
    try await logIn([.init("grant", .string("refresh")), .init("refreshToken", .string(refresh))])
  }

  private func logIn(_ members: [JSONValue.Member]) async throws {
    let body = JSONValue.object(members).text
    inbox.note(sent: "POST /v1/sessions \(body)")
    let answer = try await http.send("POST", "/v1/sessions", body: body)
    inbox.note(answer: "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    guard (200..<300).contains(answer.status), let token = answer.json?["accessToken"]?.string else {
      throw PlayerError("\(role.name) cannot log in: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    }
    state.withLock {
      $0.token = token
      $0.refresh = answer.json?["refreshToken"]?.string
      $0.device = answer.json?["deviceId"]?.string
    }
  }

  // MARK: The WebSocket

  func connect() async throws {
    try await open()
    if !role.isRaw { try await greet(cursor: nil) }
  }

  func resume() async throws {
    if isConnected { await cut() }
    try await open()
    try await greet(cursor: cursor.value)
  }

  private func greet(cursor: String?) async throws {
    guard let token else { throw PlayerError("\(role.name) has no token") }
    var data: [JSONValue.Member] = [.init("token", .string(token))]
    if let cursor { data.append(.init("cursor", .string(cursor))) }
    let hello = JSONValue.object([
      .init("id", .string("stage-hello")), .init("type", .string("hello")), .init("data", .object(data)),
    ])
    try await send(hello.text)
    let reply = try await expect("the answer to hello") { $0["re"]?.string == "stage-hello" }
    guard reply["ok"] == .bool(true) else { throw PlayerError("\(role.name): hello was refused: \(reply.text)") }
    _ = try await expect("ready") { $0["type"]?.string == "ready" }
    _ = try await expect("caught_up") { $0["type"]?.string == "caught_up" }
  }

  private func open() async throws {
    if isConnected { throw PlayerError("\(role.name) is connected already") }
    inbox.reopen()
    let (inbox, cursor, host) = (inbox, cursor, "\(role.domain):\(address.http)")
    let upgraded: EventLoopFuture<any Channel> = try await ClientBootstrap(group: loop)
      .connect(host: "127.0.0.1", port: address.http) { channel in
        channel.eventLoop.makeCompletedFuture {
          let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: Self.frameBytesMax) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(
                NIOWebSocketFrameAggregator(
                  minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: Self.frameBytesMax)
              )
              try channel.pipeline.syncOperations.addHandler(WebSocketHandler(inbox: inbox, cursor: cursor))
              return channel
            }
          }
          var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/v1/ws")
          head.headers.add(name: "Host", value: host)
          head.headers.add(name: "Sec-WebSocket-Protocol", value: "parley.v1")
          let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
            upgradeRequestHead: head, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
              channel.eventLoop.makeFailedFuture(PlayerError("the server did not upgrade to a WebSocket"))
            })
          return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: upgrade))
        }
      }
    let channel = try await upgraded.get()
    state.withLock { $0.channel = channel }
  }

  /// Events of the longest messages, several times over.
  private static let frameBytesMax = 1 << 20

  func disconnect() async throws {
    guard let channel = state.withLock({ $0.channel }), channel.isActive else { return }
    var data = ByteBuffer()
    data.write(webSocketErrorCode: .normalClosure)
    channel.writeAndFlush(WebSocketHandler.frame(.connectionClose, data), promise: nil)
    guard await inbox.take({ if case .disconnected = $0 { true } else { nil } }) != nil else {
      throw PlayerError("the server does not close the WebSocket")
    }
  }

  func cut() async {
    guard let channel = state.withLock({ $0.channel }) else { return }
    // An error here means that it is closed already.
    try? await channel.close()
    try? await channel.closeFuture.get()
  }

  func goDeaf() async {
    guard let channel = state.withLock({ $0.channel }) else { return }
    try? await channel.setOption(.autoRead, value: false).get()
  }

  func send(_ text: String) async throws {
    guard let channel = state.withLock({ $0.channel }), channel.isActive else {
      throw PlayerError("\(role.name) is not connected")
    }
    inbox.note(sent: text)
    channel.writeAndFlush(WebSocketHandler.frame(.text, ByteBuffer(string: text)), promise: nil)
  }

  func ping() async throws {
    let id = state.withLock { state in
      state.pings += 1
      return "stage-ping-\(state.pings)"
    }
    try await send(#"{"id":"\#(id)","type":"ping"}"#)
    _ = try await expect("the answer to a ping") { $0["re"]?.string == id }
  }

  private func expect(_ what: String, _ test: (JSONValue) -> Bool) async throws -> JSONValue {
    let found = await inbox.take { arrival -> JSONValue? in
      guard case .json(let value) = arrival, test(value) else { return nil }
      return value
    }
    guard let found else { throw PlayerError("\(role.name) did not get \(what)") }
    return found.value
  }
}
