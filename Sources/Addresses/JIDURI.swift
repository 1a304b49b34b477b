import Basics

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
    func part(_ text: Substring) -> String? { PercentEncoding.decode(String(text)) }
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
    if let local { text += PercentEncoding.encode(local, keeping: "!$()*+,;=") + "@" }
    text += PercentEncoding.encode(domain, keeping: "[]:")
    if let resource { text += "/" + PercentEncoding.encode(resource, keeping: "!$&'()*+,:;=") }
    return text
  }
}
