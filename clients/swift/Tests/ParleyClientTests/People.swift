import Foundation
import Testing

@testable import ParleyClient

/// The server of the client check `sdk_swift`, which runs these tests; without it they are skipped.
enum Control {
  static let environment = ProcessInfo.processInfo.environment
  static let url = environment["PARLEY_URL"].flatMap { URL(string: $0) }
  static let log = open(environment["PARLEY_REQUESTS"] ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0o600)
  static let password = environment["PARLEY_PASSWORD"] ?? ""

  /// Asks the check for what only it can do: to kill and restart the server, to open a letter, to let slixmpp arrive.
  @discardableResult static func ask(_ what: String, _ body: JSONObject = [:]) async throws -> JSONObject {
    let control = try #require(environment["PARLEY_CONTROL"].flatMap { URL(string: "\($0)/\(what)") })
    let answer = try await transport().send(
      HTTPRequest(method: "POST", url: control, headers: [], body: JSON.encode(body)))
    #expect(answer.status == 200, "\(what): \(String(decoding: answer.body, as: UTF8.self))")
    return try JSON.decode(JSONObject.self, from: answer.body)
  }

  static func client(_ storage: any Storage = MemoryStorage(), _ transport: (any Transport)? = nil) throws -> Parley {
    try Parley(
      url: #require(url), storage: storage, transport: transport ?? LoggedTransport(real: self.transport()))
  }

  /// That of the platform, or with `PARLEY_TRANSPORT=URLSession` that of Apple's on Linux, where it has requests only.
  static func transport() throws -> any Transport {
    #if PARLEY_URLSESSION && !canImport(Darwin)
      if environment["PARLEY_TRANSPORT"] == "URLSession" { return try URLSessionRequests() }
    #endif
    return try SystemTransport()
  }

  /// Somebody who is signed in and connected.
  static func person(
    _ username: String, _ storage: any Storage = MemoryStorage(), _ transport: (any Transport)? = nil
  ) async throws -> Parley {
    let made = try client(storage, transport)
    if try await !made.open() { try await made.signIn(.password(username: username, password: password)) }
    try await made.connect()
    return made
  }
}

extension Parley {
  /// Makes the access token one that the server does not know.
  func spendToken() { session?.accessToken = "spent" }
}

/// Waits for an event that fits.
@discardableResult func next<T>(_ events: Events, _ test: (Event) -> T?) async throws -> T {
  for await event in events { if let found = test(event) { return found } }
  throw ParleyError("aborted", "The events ended.")
}

/// Waits for messages of a view that fit.
@discardableResult func sees<T>(_ view: DialogView, _ test: ([LocalMessage]) -> T?) async throws -> T {
  for await messages in await view.changes() { if let found = test(messages) { return found } }
  throw ParleyError("aborted", "The view was closed.")
}

/// Waits until others have said all of these, and returns everything they said until then.
func hears(_ events: Events, _ texts: [String]) async throws -> [String] {
  var missing = Set(texts)
  var heard: [String] = []
  return try await next(events) { event in
    guard case .message(let message, isOwn: false, _) = event else { return nil }
    heard.append(message.content.text)
    missing.remove(message.content.text)
    return missing.isEmpty ? heard : nil
  }
}

func refuses(_ code: String, _ work: () async throws -> Void) async -> ParleyError? {
  do {
    try await work()
    Issue.record("\(code) was expected")
    return nil
  } catch {
    let error = error as? ParleyError
    #expect(error?.code == code, "\(error.map(String.init(describing:)) ?? "")")
    return error
  }
}

/// Every request of the tests is logged, so that the check knows what they have had done.
struct LoggedTransport: Transport {
  let real: any Transport

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let answer = try await real.send(request)
    let line = "\(request.method) \(request.url.path) \(answer.status)\n"
    #expect(write(Control.log, line, line.utf8.count) == line.utf8.count)
    return answer
  }

  func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
    try await real.open(url, subprotocol: subprotocol)
  }
}

/// A network that fails. `lose(n, text)`: of the next `n` requests and messages with this text the answer is lost, after the server has done
/// what was asked. `down`: nothing passes.
actor LossyTransport: Transport {
  private let real: any Transport
  private var isDown = false
  private var text = ""
  private(set) var left = 0
  private(set) var sent: [String] = []
  private var sockets: [LossySocket] = []

  init() throws { real = LoggedTransport(real: try Control.transport()) }

  func lose(_ count: Int, _ text: String) { (left, self.text) = (count, text) }
  func up() { isDown = false }
  func down() async {
    isDown = true
    for socket in sockets { await socket.close(code: 4000) }
    sockets = []
  }

  func isLost(_ body: String) -> Bool {
    sent.append(body)
    guard left > 0, body.contains(text) else { return false }
    left -= 1
    return true
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    if isDown { throw ParleyError.network("down") }
    let isLost = isLost(
      "\(request.method) \(request.url.path) \(String(decoding: request.body?.prefix(500) ?? Data(), as: UTF8.self))")
    let answer = try await real.send(request)
    if isLost || isDown { throw ParleyError.network("lost") }
    return answer
  }

  func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
    if isDown { throw ParleyError.network("down") }
    let socket = LossySocket(real: try await real.open(url, subprotocol: subprotocol), network: self)
    sockets.append(socket)
    return socket
  }
}

actor LossySocket: WebSocket {
  private let real: any WebSocket
  private let network: LossyTransport
  private var isLost = false

  init(real: any WebSocket, network: LossyTransport) { (self.real, self.network) = (real, network) }

  func send(_ text: String) async throws {
    if await network.isLost(text) { isLost = true }
    try await real.send(text)
  }

  func receive() async throws -> String {
    let text = try await real.receive()
    guard isLost else { return text }
    // The server has stored the message: its answer, or its event, is what arrived.
    await real.close(code: 4000)
    throw ParleyError.network("lost")
  }

  func close(code: UInt16) async { await real.close(code: code) }
}

#if PARLEY_URLSESSION && !canImport(Darwin)
  /// Every request by URLSession; WebSockets by SwiftNIO, because this platform's URLSession has none.
  struct URLSessionRequests: Transport {
    let requests = URLSessionTransport()
    let sockets: NIOTransport

    init() throws { sockets = try NIOTransport() }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await requests.send(request) }
    func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
      try await sockets.open(url, subprotocol: subprotocol)
    }
  }
#endif
