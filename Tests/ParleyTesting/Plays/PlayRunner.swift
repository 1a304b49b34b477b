import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import XMLStream

/// The server that a play runs against.
public protocol PlayServer: Sendable {
  /// The same over restarts.
  var address: Address { get }
  /// Stops in good order and starts again on the same data.
  func restart() async throws
  /// Sets the server's clock forward.
  func pass(_ time: Duration) throws
  /// Ends without any order (`kill -9`) and starts again on the same data.
  func kill() async throws
}

/// The place and the reason of a failed play, with everything its players sent and received.
public struct PlayFailure: Error, CustomStringConvertible {
  public let play: String
  /// 0: before the first line.
  public let line: Int
  public let reason: String
  public let transcript: String
  public var description: String { "\(play):\(line): \(reason)\n\(transcript)" }
}

/// Plays a play against a server, once.
public final class PlayRunner {
  /// Every player's password; a play knows it as `{password}`.
  public static let password = "wherefore-art-thou"

  private let play: Play
  private let server: any PlayServer
  private let group = MultiThreadedEventLoopGroup.singleton
  private var players: [(role: Role, player: any Player)] = []
  private let stagehand: AppPlayer
  private var captures: Captures
  private var settled = 0
  private var scene = ""

  public init(_ play: Play, on server: any PlayServer) {
    self.play = play
    self.server = server
    let hand = Role(
      name: "stagehand", door: .app, user: "stagehand", domain: play.cast.first?.domain ?? "localhost", resource: nil,
      options: [.absent], priority: 0)
    stagehand = AppPlayer(role: hand, address: server.address, password: Self.password, loop: group.next())
    captures = Captures([
      "password": Self.password, "domain": hand.domain, "long": String(repeating: "x", count: 20_000),
    ])
    for role in play.cast {
      let player: any Player =
        switch role.door {
        case .xmpp: XMPPPlayer(role: role, address: server.address, password: Self.password, loop: group.next())
        case .app: AppPlayer(role: role, address: server.address, password: Self.password, loop: group.next())
        }
      players.append((role, player))
    }
  }

  /// - Throws: `PlayFailure` at the first line that does not go as written.
  public func run() async throws {
    var number = 0
    do {
      try await raiseCurtain()
      for line in play.lines {
        number = line.number
        try await perform(line.act)
      }
    } catch {
      await lowerCurtain()
      throw PlayFailure(play: play.name, line: number, reason: "\(scene)\(error)", transcript: transcript())
    }
    await lowerCurtain()
  }

  // MARK: Before and after

  private func raiseCurtain() async throws {
    try await register(stagehand.role)
    try await stagehand.logIn()
    var users: Set<String> = []
    for (role, _) in players where !role.options.contains(.stranger) && users.insert(role.address).inserted {
      try await register(role)
    }
    for (role, player) in players where !role.options.contains(.stranger) {
      if let app = player as? AppPlayer {
        try await app.logIn()
        captures["\(role.name).token"] = app.token
        captures["\(role.name).device"] = app.device
      }
    }
    for friends in play.friends {
      try await befriend(role(friends.first), role(friends.second))
    }
    for (role, player) in players where !role.isAbsent { try await player.connect() }
    // Stanzas that the server sent because the players arrived are no part of the play.
    try await forget()
  }

  private func forget() async throws {
    try await settle()
    for (role, player) in players where !role.isRaw { player.inbox.clear() }
  }

  private func lowerCurtain() async {
    for (_, player) in players { await player.cut() }
  }

  /// Creates an account by the operator's command: `admins` may name it.
  private func register(_ role: Role) async throws {
    let body = JSONValue.object([
      .init("jid", .string(role.address)), .init("password", .string(Self.password)),
      .init("name", .string(role.user.prefix(1).uppercased() + role.user.dropFirst())),
    ])
    let answer = try await operatorCall.send("POST", "/users.add", body: body.text)
    guard answer.status == 200 else { throw PlayerError("no account for \(role.address): \(answer.status)") }
  }

  private var operatorCall: HTTPCall {
    HTTPCall(port: server.address.http, host: "localhost", loop: group.next(), socket: server.address.adminSocket)
  }

  private func http(_ role: Role) -> HTTPCall {
    HTTPCall(port: server.address.http, host: role.domain, loop: group.next())
  }

  /// Each asks the other: the second request accepts the first.
  private func befriend(_ first: Role, _ second: Role) async throws {
    for (one, other) in [(first, second), (second, first)] {
      let login = JSONValue.object([
        .init("grant", .string("password")), .init("username", .string(one.user)),
        .init("password", .string(Self.password)), .init("deviceId", .string("stage")),
      ])
      let session = try await http(one).send("POST", "/v1/sessions", body: login.text)
      guard let token = session.json?["accessToken"]?.string else {
        throw PlayerError("\(one.address) cannot log in")
      }
      let id = one.domain == other.domain ? other.user : "\(other.user)@\(other.domain)"
      let answer = try await http(one).send("PUT", "/v1/contacts/\(id)", body: "{}", token: token)
      guard answer.status == 200 else {
        throw PlayerError("\(one.address) cannot befriend \(other.address): \(answer.status)")
      }
      _ = try await http(one).send("DELETE", "/v1/sessions/current", token: token)
    }
  }

  /// Returns when everything that the players have sent has had its effect: the server has read it (each has a ping
  /// answered), has written it (a later write to the log is answered) and has delivered it (each has a ping answered
  /// again).
  private func settle() async throws {
    try await pingAll()
    settled += 1
    let answer = try await stagehand.call("PATCH", "/v1/users/me", body: #"{"status":"\#(settled)"}"#)
    guard answer.status == 200 else { throw PlayerError("the server could not settle: \(answer.status)") }
    try await pingElsewhere()
    try await pingAll()
  }

  private func pingAll() async throws {
    for player in present { try await player.ping() }
  }

  /// Pings the other domains of the cast, and their rooms: the answer comes behind all that passes between two domains.
  /// What that entails there (a presence that a probe asks for) has come when it is done again.
  private func pingElsewhere() async throws {
    guard play.settings.contains(where: { $0.key == "federation.enabled" && $0.value == "true" }) else { return }
    let domains = Set(play.cast.map(\.domain)).sorted().flatMap { [$0, "conference.\($0)"] }
    for _ in 1...2 {
      for player in present.compactMap({ $0 as? XMPPPlayer }) {
        for domain in domains where !domain.hasSuffix(player.role.domain) { try await player.ping(domain) }
      }
    }
  }

  /// The players who can be pinged.
  private var present: [any Player] {
    players.filter { role, player in
      player.isConnected && !player.inbox.hasEnded && !role.isRaw && !role.options.contains(.unbound)
    }.map(\.player)
  }

  private func transcript() -> String {
    players.map { role, player in
      "\(role.name):\n" + player.inbox.transcript.suffix(40).map { "  \($0)" }.joined(separator: "\n")
    }.joined(separator: "\n")
  }

  private func player(_ name: String) throws -> any Player {
    guard let found = players.first(where: { $0.role.name == name }) else { throw PlayerError("no player \(name)") }
    return found.player
  }

  private func role(_ name: String) throws -> Role { try player(name).role }

  // MARK: The lines

  private func perform(_ act: Act) async throws {
    switch act {
    case .connects(let name):
      let player = try player(name)
      // The server closes the connection behind the end of the stream.
      if player.isConnected, player.inbox.hasEnded { _ = await disconnection(of: player) }
      try await player.connect()
    case .disconnects(let name): try await player(name).disconnect()
    case .goesAway(let name): try await player(name).cut()
    case .goesDeaf(let name): try await player(name).goDeaf()
    case .resumes(let name): try await player(name).resume()
    case .cannotResume(let name, let patterns):
      guard let player = try player(name) as? XMPPPlayer else { throw PlayerError("only XMPP players fail to resume") }
      let refusal = try await player.failToResume()
      guard let pattern = patterns.first, let found = Matcher.match(pattern, .xml(refusal), captures) else {
        throw PlayerError("\(name) was refused with \(refusal)")
      }
      captures = found
    case .sends(let name, let text):
      let player = try player(name)
      try await player.send(fill(text, player.role.door == .xmpp ? .xml : .json))
    case .receives(let name, let patterns): try await receive(player(name), patterns)
    case .receivesNothing(let name):
      try await settle()
      let unread = try player(name).inbox.unread.filter { !$0.isIncidental }
      if !unread.isEmpty { throw PlayerError("\(name) has received \(list(unread))") }
    case .receivesNo(let name, let patterns):
      try await settle()
      for arrival in try player(name).inbox.unread {
        for pattern in patterns where Matcher.match(pattern, arrival, captures) != nil {
          throw PlayerError("\(name) has received \(arrival)")
        }
      }
    case .wasNeverTold(let name, let texts):
      try await settle()
      let told = try player(name).inbox.told
      for text in texts {
        let text = try fill(text, .none)
        if let line = told.first(where: { $0.contains(text) }) {
          throw PlayerError("\(name) was told \(text): \(line)")
        }
      }
    case .isDisconnected(let name):
      guard try await disconnection(of: player(name)) else { throw PlayerError("\(name) is still connected") }
    case .skipsTheRest(let names):
      try await settle()
      for name in names { try player(name).inbox.clear() }
    case .does(let name, let request): try await carryOut(request, by: name)
    case .operatorDoes(let request):
      let answer = try await operatorCall.send(
        request.method, fill(request.path, .none), body: request.body.map { try fill($0, .json) })
      try check(answer, of: request, by: "operator")
    case .sceneBegins(let name):
      scene = "\(name): "
      try await forget()
    case .serverRestarts: try await server.restart()
    case .serverIsKilled: try await server.kill()
    case .timePasses(let time):
      try await settle()
      try server.pass(time)
      // What a client does whose token has run out.
      try await stagehand.renew()
      for case let (role, player as AppPlayer) in players where player.token != nil {
        try await player.renew()
        captures["\(role.name).token"] = player.token
      }
    }
  }

  /// Waits for the end of the player's connection; false if it stays open.
  private func disconnection(of player: any Player) async -> Bool {
    await player.inbox.take { if case .disconnected = $0 { true } else { nil } } != nil
  }

  private func receive(_ player: any Player, _ patterns: [Pattern]) async throws {
    var start = 0
    // The place behind all that were taken. It is where the next one is looked for, except between two answers.
    var behind = 0
    var afterAnswer = false
    for pattern in patterns {
      if !(afterAnswer && pattern.isAnswer) { start = behind }
      let before = captures
      guard let found = await player.inbox.take(from: start, { Matcher.match(pattern, $0, before) }) else {
        throw PlayerError("\(player.role.name) did not receive \(pattern); unread: \(list(player.inbox.unread))")
      }
      captures = found.value
      // One that stood before the others moves the place behind them by one.
      behind = found.next < behind ? behind - 1 : found.next
      afterAnswer = pattern.isAnswer
    }
  }

  private func carryOut(_ request: Act.Request, by name: String) async throws {
    guard let player = try player(name) as? AppPlayer else { throw PlayerError("\(name) is no app player") }
    if let cursor = player.lastCursor { captures["\(name).cursor"] = cursor }
    let answer = try await player.call(
      request.method, fill(request.path, .none),
      body: request.body.map { try $0.hasPrefix(HTTPCall.bytes) ? $0 : fill($0, .json) })
    // RFC 9457 3: every refusal says what it is.
    if answer.status >= 400, answer.headers.first(name: "Content-Type") != "application/problem+json" {
      throw PlayerError("\(name) was refused without a problem: \(answer.status)")
    }
    try check(answer, of: request, by: name)
  }

  private func check(_ answer: HTTPCall.Answer, of request: Act.Request, by name: String) throws {
    let text = "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
    let isRight = request.status.map { $0 == answer.status } ?? (200..<300).contains(answer.status)
    guard isRight else { throw PlayerError("\(name) was answered \(text)") }
    guard let pattern = request.answer else { return }
    if let bytes = pattern.string, bytes.hasPrefix(HTTPCall.bytes) {
      guard answer.bytes == bytes else { throw PlayerError("\(name) was answered \(text)") }
      return
    }
    guard let json = answer.json, let found = Matcher.match(pattern, json, captures) else {
      throw PlayerError("\(name) was answered \(text)")
    }
    captures = found
  }

  private func fill(_ text: String, _ escaping: Captures.Escaping) throws -> String {
    do { return try captures.fill(text, escaping) } catch {
      throw PlayerError("nothing has been captured as {\(error.name)}")
    }
  }

  private func list(_ arrivals: [Arrival]) -> String {
    arrivals.isEmpty ? "nothing" : arrivals.map { "\n    \($0)" }.joined()
  }
}
