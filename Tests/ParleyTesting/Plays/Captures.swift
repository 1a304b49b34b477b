import Accounts
import Basics
import Crypto
import Dialogs
import FoundationEssentials
import JSON
import XMPP

/// The names in braces of a play, and what they stand for.
///
/// In an expectation a name that is not known yet takes the text that it meets, a known one must meet the same text
/// again, and `{any}` meets everything. In what is sent every name must be known. Some stand for what a client makes of
/// something captured: see `made`.
public struct Captures: Hashable, Sendable {
  private var values: [String: String]

  public init(_ values: [String: String] = [:]) { self.values = values }

  public subscript(_ name: String) -> String? {
    get { values[name] }
    set { values[name] = newValue }
  }

  private func value(of name: String) -> String? { values[name] ?? made(name) }

  /// Messages of SASL, in base 64: `{hashed.romeo.token}` of HT, with the token captured as `token`;
  /// `{bearer.Juliet.token}` of OAUTHBEARER; `{plain.romeo.password}` of PLAIN. And `{totp.secret}`, the code of a
  /// second factor with the secret captured as `secret`; `{totp-next.secret}` the one after it, which counts already.
  /// And `{in.60}`: a minute from when it is said; `{proof.challenge.target}`, the proof of work for what was captured as
  /// `challenge` and `target`, and `{proof.localhost.id.target}` for a challenge of which only the id was captured.
  private func made(_ name: String) -> String? {
    let parts = name.split(separator: ".", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    switch parts[0] {
    case "hashed":
      let rest = parts[1].split(separator: ".", maxSplits: 1)
      guard rest.count == 2, let token = values[String(rest[1])] else { return nil }
      return Base64.string(TokenProof.message(username: String(rest[0]), token: token))
    case "in":
      guard let seconds = Double(parts[1]) else { return nil }
      return Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 + seconds) * 1_000)).description
    case "plain":
      let rest = parts[1].split(separator: ".", maxSplits: 1)
      guard rest.count == 2, let password = values[String(rest[1])] else { return nil }
      return Base64.string(Array("\0\(rest[0])\0\(password)".utf8))
    case "bearer":
      guard let token = values[String(parts[1])] else { return nil }
      return Base64.string(Array("n,,\u{1}auth=Bearer \(token)\u{1}\u{1}".utf8))
    case "totp", "totp-next":
      guard let totp = values[String(parts[1])].flatMap({ TOTP(base32: $0) }) else { return nil }
      return totp.code(at: SystemClock().now, later: parts[0] == "totp" ? 0 : 1)
    case "proof":
      var rest = parts[1].split(separator: ".").map { String($0) }
      let domain = rest.count == 3 ? rest.removeFirst() : ""
      guard rest.count == 2, let challenge = values[rest[0]], let target = values[rest[1]] else { return nil }
      return Self.proof(domain + challenge, target)
    default: return nil
    }
  }

  /// Returns the first text that begins with a challenge, and whose SHA-256 ends in the bits of a target.
  private static func proof(_ challenge: String, _ target: String) -> String? {
    guard let value = UInt32(target, radix: 16) else { return nil }
    let mask = UInt32.max &>> UInt32(value.leadingZeroBitCount)
    var begun = SHA256()
    begun.update(data: Array(challenge.utf8))
    for number in 0..<10_000_000 {
      var hash = begun
      hash.update(data: Array("\(number)".utf8))
      let end = Array(hash.finalize()).suffix(4).reduce(UInt32(0)) { $0 &<< 8 | UInt32($1) }
      if end & mask == value { return "\(challenge)\(number)" }
    }
    return nil
  }

  /// Meets everything, keeps nothing.
  static let any = "any"
  /// The pattern of an attribute or member that must be missing, as its whole value.
  static let absent = "{absent}"

  enum Piece: Hashable {
    case text(Substring)
    case name(String)
  }

  /// `{name}`: a letter, then letters, digits, `_`, `-` and `.`; any other brace is text.
  static func pieces(of text: String) -> [Piece] {
    var pieces: [Piece] = []
    var rest = text[...]
    var start = rest.startIndex
    while let open = rest[start...].firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}"), let name = name(rest[rest.index(after: open)..<close]) else {
        start = rest.index(after: open)
        continue
      }
      if open > rest.startIndex { pieces.append(.text(rest[..<open])) }
      pieces.append(.name(name))
      rest = rest[rest.index(after: close)...]
      start = rest.startIndex
    }
    if !rest.isEmpty { pieces.append(.text(rest)) }
    return pieces
  }

  private static func name(_ text: Substring) -> String? {
    guard let first = text.first, first.isASCII, first.isLetter else { return nil }
    let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-.".contains($0)) }
    return isName ? String(text) : nil
  }

  /// Whether `value` is as `pattern` says; then what has been captured is kept.
  public mutating func match(_ pattern: String, _ value: String) -> Bool {
    guard pattern.contains("{") else { return pattern == value }
    guard let found = match(Self.pieces(of: pattern)[...], value[...]) else { return false }
    self = found
    return true
  }

  private func match(_ pieces: ArraySlice<Piece>, _ value: Substring) -> Captures? {
    guard let first = pieces.first else { return value.isEmpty ? self : nil }
    let rest = pieces.dropFirst()
    switch first {
    case .text(let text):
      return value.hasPrefix(text) ? match(rest, value.dropFirst(text.count)) : nil
    case .name(let name):
      if name != Self.any, let known = self.value(of: name) {
        return value.hasPrefix(known) ? match(rest, value.dropFirst(known.count)) : nil
      }
      // The shortest text that lets the rest fit; the last name takes all there is.
      var end = rest.isEmpty ? value.endIndex : value.startIndex
      while true {
        var trial = self
        if name != Self.any { trial.values[name] = String(value[..<end]) }
        if let found = trial.match(rest, value[end...]) { return found }
        if end == value.endIndex { return nil }
        end = value.index(after: end)
      }
    }
  }

  /// The escaping of a captured text in the place where it is filled in.
  public enum Escaping: Sendable { case none, xml, json }

  /// `text` with all names replaced by what they stand for.
  ///
  /// - Throws: for a name that nothing has been captured under.
  public func fill(_ text: String, _ escaping: Escaping) throws(UnknownCapture) -> String {
    var filled = ""
    for piece in Self.pieces(of: text) {
      switch piece {
      case .text(let text): filled += text
      case .name(let name):
        guard let value = self.value(of: name) else { throw UnknownCapture(name: name) }
        filled += Self.escape(value, escaping)
      }
    }
    return filled
  }

  private static func escape(_ value: String, _ escaping: Escaping) -> String {
    var escaped = ""
    for character in value {
      switch (escaping, character) {
      case (.xml, "&"): escaped += "&amp;"
      case (.xml, "<"): escaped += "&lt;"
      case (.xml, ">"): escaped += "&gt;"
      case (.xml, "'"): escaped += "&apos;"
      case (.xml, "\""): escaped += "&quot;"
      case (.json, "\""): escaped += "\\\""
      case (.json, "\\"): escaped += "\\\\"
      case (.json, "\n"): escaped += "\\n"
      default: escaped.append(character)
      }
    }
    return escaped
  }
}

/// A name in braces in something to be sent, before anything was captured under it.
public struct UnknownCapture: Error, Hashable, Sendable {
  public let name: String
}
