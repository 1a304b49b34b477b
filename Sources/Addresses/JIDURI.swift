/// Addresses as URIs (RFC 5122), percent-encoded octets of UTF-8 in each part.
extension JID {
  /// Reads the address in a URI. Authority, query and fragment are ignored (RFC 5122 2.3, 2.5, 2.6). `nil` for a URI of
  /// another scheme, or without an address.
  public init?(uri: String) {
    let scheme = "xmpp:"
    let utf8 = uri.utf8
    guard utf8.count > scheme.utf8.count, uri.prefix(scheme.count).lowercased() == scheme else { return nil }
    var path = uri[utf8.index(utf8.startIndex, offsetBy: scheme.utf8.count)...]
    if let end = path.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
      path = path[..<end]
    }
    if path.utf8.starts(with: "//".utf8) {
      // 2.3: the account that asks, and behind the next slash the address.
      path = path[path.utf8.index(path.utf8.startIndex, offsetBy: 2)...]
      guard let slash = path.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
      path = path[path.utf8.index(after: slash)...]
    }
    let slash = path.utf8.firstIndex(of: UInt8(ascii: "/"))
    let bare = path[..<(slash ?? path.utf8.endIndex)]
    let at = bare.utf8.firstIndex(of: UInt8(ascii: "@"))
    // Decoded part by part: an encoded separator separates nothing.
    func part(_ text: Substring) -> String? { PercentDecoding.decode(String(text)) }
    guard let domain = part(at.map { bare[bare.utf8.index(after: $0)...] } ?? bare) else { return nil }
    var (local, resource): (String?, String?)
    if let at {
      local = part(bare[..<at])
      if local == nil { return nil }
    }
    if let slash {
      resource = part(path[path.utf8.index(after: slash)...])
      if resource == nil { return nil }
    }
    do { try self.init(local: local, domain: domain, resource: resource) } catch { return nil }
  }

  /// The URI, such as `xmpp:juliet@example.org`.
  public var uri: String {
    var text = "xmpp:"
    if let local { text += Self.encoded(local, keeping: "!$()*+,;=") + "@" }
    text += Self.encoded(domain, keeping: "[]:")
    if let resource { text += "/" + Self.encoded(resource, keeping: "!$&'()*+,:;=") }
    return text
  }

  /// Percent-encodes a part.
  ///
  /// - Parameter others: the characters that stay beside the unreserved ones of RFC 3986 2.3 (RFC 5122 2.2).
  private static func encoded(_ text: String, keeping others: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        bytes.append(byte)
      case _ where others.utf8.contains(byte): bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
