import JSON
import ServerConfiguration
import XMLStream

/// A line of a play that cannot be understood.
public struct PlayError: Error, Hashable, Sendable, CustomStringConvertible {
  public let play: String
  public let line: Int
  public let text: String
  public var description: String { "\(play):\(line): \(text)" }
}

/// Reads the text of a play. A line that begins at the margin says what happens; indented lines belong to the line
/// above them, and a stanza or a JSON value may go on over several of them. `#` begins a comment line.
public struct PlayParser {
  private let name: String
  private let lines: [Substring]
  private var at = 0
  private var play: Play

  private init(_ text: String, name: String) {
    self.name = name
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    play = Play(name: name, settings: [], cast: [], friends: [], lines: [])
  }

  /// - Parameter name: the file's name, for messages.
  public static func parse(_ text: String, name: String) throws(PlayError) -> Play {
    var parser = PlayParser(text, name: name)
    return try parser.read()
  }

  private mutating func read() throws(PlayError) -> Play {
    while let head = next() {
      let number = at
      if head.first?.isWhitespace == true { throw error(number, "an indented line belongs below another line") }
      switch head {
      case "settings:": for (line, text) in block() { try setting(text, line) }
      case "cast:": for (line, text) in block() { try role(text, line) }
      case "friends:": for (line, text) in block() { try friendship(text, line) }
      case _ where head.hasPrefix("scene: "):
        let name = String(head.dropFirst(7))
        try needsNoSkip(number)
        if play.scenes.contains(name) { throw error(number, "there is a scene \"\(name)\" already") }
        play.lines.append(Play.Line(number: number, act: .sceneBegins(name)))
      case _ where head.hasPrefix("operator does: "):
        let request = try request(nil, [(number, head.dropFirst(15))] + block(), number)
        play.lines.append(Play.Line(number: number, act: .operatorDoes(request)))
      case "server restarts": play.lines.append(Play.Line(number: number, act: .serverRestarts))
      case "server is killed": play.lines.append(Play.Line(number: number, act: .serverIsKilled))
      case _ where head.hasSuffix(" days pass"):
        guard let days = Int(head.dropLast(10)), days > 0 else { throw error(number, "a number of days is missing") }
        play.lines.append(Play.Line(number: number, act: .timePasses(.seconds(days * 86_400))))
      default: play.lines.append(Play.Line(number: number, act: try act(head, number)))
      }
    }
    if play.cast.isEmpty { throw error(1, "nobody is in the cast") }
    if play.lines.isEmpty { throw error(lines.count, "nothing happens") }
    try needsNoSkip(lines.count)
    return play
  }

  /// A scene and the end of a play forget what is unread by themselves.
  private func needsNoSkip(_ number: Int) throws(PlayError) {
    guard case .skipsTheRest = play.lines.last?.act else { return }
    throw error(number, "what nobody has read is forgotten here: the line above is not needed")
  }

  // MARK: Lines

  private func error(_ line: Int, _ text: String) -> PlayError { PlayError(play: name, line: line, text: text) }

  /// The next line at the margin, without white space at its end.
  private mutating func next() -> Substring? {
    while at < lines.count {
      let line = Self.trimEnd(lines[at])
      at += 1
      if !line.isEmpty, !line.hasPrefix("#") { return line }
    }
    return nil
  }

  /// The indented lines that follow, with their numbers; comments and empty lines left out.
  private mutating func block() -> [(line: Int, text: Substring)] {
    var block: [(Int, Substring)] = []
    while at < lines.count {
      let line = Self.trimEnd(lines[at])
      let text = line.drop { $0.isWhitespace }
      if !text.isEmpty, !text.hasPrefix("#") {
        if line.first?.isWhitespace != true { break }
        block.append((at + 1, text))
      } else if line.hasPrefix("#"), !text.isEmpty {
        break
      }
      at += 1
    }
    return block
  }

  private static func trimEnd(_ line: Substring) -> Substring {
    var line = line
    while line.last?.isWhitespace == true { line.removeLast() }
    return line
  }

  // MARK: Sections

  private mutating func setting(_ text: Substring, _ line: Int) throws(PlayError) {
    let parts = text.split(separator: "=", maxSplits: 1).map { String($0.drop { $0 == " " }) }
    guard parts.count == 2 else { throw error(line, "a setting is written: key = value") }
    play.settings.append(Play.Setting(key: String(Self.trimEnd(parts[0][...])), value: parts[1]))
  }

  /// `Romeo (xmpp, carbons) romeo@localhost/orchard`.
  private mutating func role(_ text: Substring, _ line: Int) throws(PlayError) {
    let usage = "a role is written: Name (xmpp or app, options) user@domain/resource"
    guard let open = text.firstIndex(of: "("), let close = text.firstIndex(of: ")"), open < close else {
      throw error(line, usage)
    }
    let name = String(Self.trimEnd(text[..<open]))
    let address = text[text.index(after: close)...].drop { $0.isWhitespace }
    guard let first = name.first, first.isUppercase, name.allSatisfy({ $0.isLetter || $0.isNumber }) else {
      throw error(line, "a name begins with a capital letter and has letters and digits")
    }
    if play.cast.contains(where: { $0.name == name }) { throw error(line, "\(name) is in the cast twice") }

    var words = text[text.index(after: open)..<close].split(separator: ",").map { $0.drop { $0 == " " } }
    guard !words.isEmpty, let door = Role.Door(rawValue: String(words.removeFirst())) else { throw error(line, usage) }
    var options: Set<Role.Option> = []
    var priority = 0
    for word in words {
      if word.hasPrefix("priority "), let number = Int(word.dropFirst(9)), (-128...127).contains(number) {
        priority = number
      } else if let option = Role.Option(rawValue: String(word)) {
        options.insert(option)
      } else {
        let known = Role.Option.allCases.map(\.rawValue).joined(separator: ", ")
        throw error(line, "\"\(word)\" is no option; there are \(known), priority N")
      }
    }
    let parts = address.split(separator: "/", maxSplits: 1)
    let bare = parts.first?.split(separator: "@", maxSplits: 1) ?? []
    guard bare.count == 2 else { throw error(line, usage) }
    play.cast.append(
      Role(
        name: name, door: door, user: String(bare[0]), domain: String(bare[1]),
        resource: parts.count > 1 ? String(parts[1]) : nil, options: options, priority: priority))
  }

  /// `Romeo, Juliet`.
  private mutating func friendship(_ text: Substring, _ line: Int) throws(PlayError) {
    let names = text.split(separator: ",").map { String($0.drop { $0 == " " }) }
    guard names.count == 2 else { throw error(line, "friends are written: Romeo, Juliet") }
    for name in names { _ = try player(name[...], line) }
    play.friends.append(Play.Friendship(first: names[0], second: names[1]))
  }

  private func player(_ name: Substring, _ line: Int) throws(PlayError) -> Role {
    guard let role = play.cast.first(where: { $0.name == name }) else {
      throw error(line, "\(name) is not in the cast")
    }
    return role
  }

  // MARK: Acts

  private mutating func act(_ head: Substring, _ line: Int) throws(PlayError) -> Act {
    let several = " skip the rest"
    if head.hasSuffix(several) {
      let roles = try head.dropLast(several.count).split(separator: ", ").map { name throws(PlayError) in
        try player(name, line)
      }
      if let (line, _) = block().first { throw error(line, "nothing may stand below \"skip the rest\"") }
      return .skipsTheRest(roles.map(\.name))
    }
    guard let space = head.firstIndex(of: " ") else { throw error(line, "what does \(head) do?") }
    let role = try player(head[..<space], line)
    let name = role.name
    let says = head[head.index(after: space)...]

    let plain: Act? =
      switch says {
      case "connects": .connects(name)
      case "disconnects": .disconnects(name)
      case "goes away": .goesAway(name)
      case "goes deaf": .goesDeaf(name)
      case "resumes": .resumes(name)
      case "receives nothing": .receivesNothing(name)
      case "skips the rest": .skipsTheRest([name])
      case "is disconnected": .isDisconnected(name)
      case "receives end of stream": .receives(name, [.end(code: nil)])
      default: nil
      }
    if let plain {
      if let (line, _) = block().first { throw error(line, "nothing may stand below \"\(says)\"") }
      if case .receivesNothing = plain, role.options.contains(.unbound) || role.isRaw {
        throw error(line, "only a player that can ping can receive nothing, and \(name) cannot")
      }
      return plain
    }
    if says.hasPrefix("is closed with ") {
      guard let code = Int(says.dropFirst(15)) else { throw error(line, "a close code is a number") }
      return .receives(name, [.end(code: code)])
    }
    guard let colon = says.firstIndex(of: ":") else { throw error(line, Self.verbs) }
    let verb = says[..<colon]
    let inline = says[says.index(after: colon)...].drop { $0.isWhitespace }
    var body = block()
    if !inline.isEmpty { body.insert((line, inline), at: 0) }
    if body.isEmpty { throw error(line, "what \(name) \(verb) must follow") }

    switch verb {
    case "sends":
      let text = Self.unfold(body.map(\.text), role.door)
      if !role.isRaw { _ = try patterns(role, body, line) }
      return .sends(name, text)
    case "receives": return .receives(name, try patterns(role, body, line))
    case "receives no": return .receivesNo(name, try patterns(role, body, line))
    case "was never told": return .wasNeverTold(name, body.map { String($0.text) })
    case "cannot resume": return .cannotResume(name, try patterns(role, body, line))
    case "does": return .does(name, try request(role, body, line))
    default: throw error(line, Self.verbs)
    }
  }

  private static let verbs = """
    there is no such verb; there are: connects, disconnects, goes away, goes deaf, resumes, cannot resume:, sends:, \
    receives:, receives nothing, receives no:, was never told:, receives end of stream, skips the rest, is disconnected, \
    is closed with CODE, does:; and of several: skip the rest
    """

  /// The stanzas or the JSON values of a block.
  private func patterns(
    _ role: Role, _ body: [(line: Int, text: Substring)], _ line: Int
  ) throws(PlayError) -> [Pattern] {
    switch role.door {
    case .xmpp:
      do throws(XMLViolation) {
        return try Self.elements(Self.unfold(body.map(\.text), .xmpp)).map { .xml($0) }
      } catch {
        throw self.error(body.first?.line ?? line, "\(error)")
      }
    case .app: return try Self.values(body).mapError { error($0.line, $0.text) }.get().map { .json($0) }
    }
  }

  /// The text of several lines. A line break is a space inside an XML tag, between its attributes, and nothing
  /// elsewhere.
  static func unfold(_ lines: [Substring], _ door: Role.Door) -> String {
    guard door == .xmpp else { return lines.joined() }
    var text = ""
    var isTag = false
    var quote: Character?
    for line in lines {
      if isTag, quote == nil { text += " " }
      for character in line {
        switch (character, quote) {
        case ("<", nil): isTag = true
        case (">", nil): isTag = false
        case ("'", nil) where isTag, ("\"", nil) where isTag: quote = character
        case (let character, let open?) where character == open: quote = nil
        default: break
        }
      }
      text += line
    }
    return text
  }

  /// XML elements one after the other, as in a client's stream.
  static func elements(_ text: String) throws(XMLViolation) -> [Element] {
    let document = """
      <play xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' \
      xmlns:play='\(Matcher.namespace)'>\(text)</play>
      """
    // A play may send more than the server takes.
    var limits = ReaderLimits.authenticated
    limits.stanzaBytes = ReaderLimits.stanzaBytesMax
    return Array(try Element(parsing: document.utf8, defaultNamespace: "", limits: limits).children)
  }

  private struct Fault: Error {
    let line: Int
    let text: String
  }

  /// JSON values one after the other, each beginning on a line of its own.
  private static func values(_ body: [(line: Int, text: Substring)]) -> Result<[JSONValue], Fault> {
    var values: [JSONValue] = []
    var gathered = ""
    var start = 0
    var fault: JSONError?
    for (line, text) in body {
      if gathered.isEmpty { start = line }
      gathered += text
      do throws(JSONError) {
        values.append(try JSONValue(parsing: gathered))
        gathered = ""
      } catch { fault = error }
    }
    if let fault, !gathered.isEmpty { return .failure(Fault(line: start, text: "\(fault)")) }
    return .success(values)
  }

  /// `METHOD path {json}`, more JSON, then `-> STATUS {json}` and more JSON.
  private func request(
    _ role: Role?, _ body: [(line: Int, text: Substring)], _ line: Int
  ) throws(PlayError) -> Act.Request {
    guard role?.door != .xmpp else { throw error(line, "only app players do requests") }
    let arrow = body.firstIndex { $0.text.hasPrefix("->") } ?? body.endIndex
    var asked = Array(body[..<arrow])
    var answered = Array(body[arrow...])
    guard let head = asked.first else { throw error(line, "a request is written: METHOD /path {json}") }
    let words = head.text.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[1].hasPrefix("/"), ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(words[0]) else {
      throw error(head.line, "a request is written: METHOD /path {json}")
    }
    asked[0].text = words.count > 2 ? words[2] : ""
    var request = Act.Request(method: String(words[0]), path: String(words[1]))
    let text = asked.map(\.text).joined()
    if !text.isEmpty {
      if !text.hasPrefix(HTTPCall.bytes) {
        do throws(JSONError) { _ = try JSONValue(parsing: text) } catch { throw self.error(head.line, "\(error)") }
      }
      request.body = text
    }
    if let head = answered.first {
      let parts = head.text.dropFirst(2).split(separator: " ", maxSplits: 1)
      guard let status = parts.first.flatMap({ Int($0) }) else {
        throw error(head.line, "an answer is written: -> STATUS {json}")
      }
      request.status = status
      answered[0].text = parts.count > 1 ? parts[1] : ""
      let text = answered.map(\.text).joined()
      if text.hasPrefix(HTTPCall.bytes) {
        request.answer = .string(text)
      } else if !text.isEmpty {
        do throws(JSONError) { request.answer = try JSONValue(parsing: text) } catch {
          throw self.error(head.line, "\(error)")
        }
      }
    }
    return request
  }
}
