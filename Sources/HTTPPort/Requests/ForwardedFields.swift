import Basics
import HTTPTypes
import NIOHTTP1

/// The fields in which proxies name the client of a request and its protocol.
///
/// `Forwarded` (RFC 7239) is read only without `X-Forwarded-For`: most proxies set the latter alone and pass the former on as
/// the client has sent it.
struct ForwardedFields: Sendable, Equatable {
  private let xForwardedFor: String?
  private let xForwardedProto: String?
  private let forwarded: String?

  init(xForwardedFor: String? = nil, xForwardedProto: String? = nil, forwarded: String? = nil) {
    self.xForwardedFor = xForwardedFor
    self.xForwardedProto = xForwardedProto
    self.forwarded = forwarded
  }

  // Fields of one name are one list (RFC 9110 5.3).
  init(_ fields: HTTPFields) {
    xForwardedFor = fields[.forwardedFor]
    xForwardedProto = fields[.forwardedProtocol]
    forwarded = fields[.forwarded]
  }

  init(_ headers: HTTPHeaders) {
    func list(_ name: String) -> String? {
      let lines = headers[name]
      return lines.isEmpty ? nil : lines.joined(separator: ",")
    }
    xForwardedFor = list("x-forwarded-for")
    xForwardedProto = list("x-forwarded-proto")
    forwarded = list("forwarded")
  }

  /// A client or proxy, by the name that the next proxy gives it.
  enum Node: Equatable {
    case address(IPAddress)
    /// A name without its port: one that hides the address (RFC 7239 6.3), `unknown` (6.2), or an unreadable one.
    case name(String)
  }

  /// The nodes, from the client to the one that the nearest proxy names; empty without fields.
  var nodes: [Node] {
    if let xForwardedFor { return Self.list(xForwardedFor).map { Self.node($0) } }
    guard let forwarded else { return [] }
    // An unterminated quote may be the client's, and would hide the pairs that a proxy has added behind it.
    guard let elements = Self.elements(forwarded) else { return [.name(Self.unreadable)] }
    return elements.map { $0["for"].map { Self.node($0) } ?? .name("unknown") }
  }

  /// The protocol of the request to the nearest proxy, in lower case; nil if the proxy does not report it.
  var proto: String? {
    if let xForwardedProto { return Self.list(xForwardedProto).last?.lowercased() }
    return forwarded.flatMap { Self.elements($0)?.last?["proto"]?.lowercased() }
  }

  // MARK: Reading

  /// The name of an unreadable node.
  private static let unreadable = "unreadable"

  /// The elements of a list without empty ones (RFC 9110 5.6.1.2). It is split by scalars: some scalars join with a following
  /// comma to one character, by which a client could merge its own element with that of a proxy.
  private static func list(_ text: String) -> [String] {
    text.unicodeScalars.split(separator: ",").map { String($0).trimmed }.filter { !$0.isEmpty }
  }

  /// Reads a node (RFC 7239 6) without its port, which differs for each connection. `X-Forwarded-For` has no grammar, and may
  /// contain IPv6 addresses with or without brackets.
  private static func node(_ text: String) -> Node {
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return .name(unreadable) }
    var name = Substring(text)
    if name.first == "[", let end = name.firstIndex(of: "]") {
      let rest = name[name.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" && rest.dropFirst().utf8.allSatisfy({ isNameByte($0) }) else {
        return .name(unreadable)
      }
      name = name[name.index(after: name.startIndex)..<end]
    } else if name.count(where: { $0 == ":" }) == 1 {
      name = name.prefix { $0 != ":" }
    }
    // A zone (RFC 4007 11) belongs to the proxy's machine.
    if let address = IPAddress(String(name.prefix { $0 != "%" })) { return .address(address) }
    // Only the characters of RFC 7239 6.3 and a bounded length, since the log shows the name.
    let isName = (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { isNameByte($0) }
    return .name(isName ? String(name) : unreadable)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// Returns the pairs of each element of `Forwarded` (RFC 7239 4), names in lower case; nil if a quoted string has no end,
  /// or a pair no name, or an element two pairs of one name.
  private static func elements(_ text: String) -> [[String: String]]? {
    var elements: [[String: String]] = []
    var pairs: [String: String] = [:]
    var name: String?
    var value = ""
    var isQuoted = false
    var isEscaped = false

    /// Ends a pair; fails if its name is repeated or missing.
    func endPair() -> Bool {
      defer { (name, value) = (nil, "") }
      guard let key = name?.trimmed.lowercased() else { return value.trimmed.isEmpty }
      return pairs.updateValue(value.trimmed, forKey: key) == nil
    }
    func endElement() -> Bool {
      guard endPair() else { return false }
      if !pairs.isEmpty { elements.append(pairs) }
      pairs = [:]
      return true
    }

    for scalar in text.unicodeScalars {
      switch scalar {
      case _ where isEscaped:
        value.unicodeScalars.append(scalar)
        isEscaped = false
      case "\\" where isQuoted: isEscaped = true
      case "\"": isQuoted.toggle()
      case _ where isQuoted: value.unicodeScalars.append(scalar)
      case ",": guard endElement() else { return nil }
      case ";": guard endPair() else { return nil }
      case "=" where name == nil: (name, value) = (value, "")
      default: value.unicodeScalars.append(scalar)
      }
    }
    return !isQuoted && endElement() ? elements : nil
  }
}

extension HTTPField.Name {
  // The names are constants of token characters only.
  static let forwarded = HTTPField.Name("Forwarded")!
  static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
  static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")!
}
