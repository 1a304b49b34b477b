/// The client's message of OAUTHBEARER (RFC 7628 3.1): a GS2 header, and the headers of a corresponding HTTP request.
///
/// `host` and `port` are not compared with anything: the token is no digest over them (3.1), and behind a proxy or an
/// SRV record the server does not know what the client connected to.
struct BearerMessage: Sendable, Equatable {
  /// The identity to act as; `nil` if absent.
  let authzid: String?
  /// The token; `nil` if there is none, or one of another kind, by which a client asks what is needed (RFC 7628 4.3).
  let token: String?

  /// The answer to an invalid token (RFC 7628 3.2.2, RFC 6750 3.1).
  static let invalidToken = Array(#"{"status":"invalid_token"}"#.utf8)

  init?(_ message: [UInt8]) {
    let separator: UInt8 = 1
    guard let start = message.firstIndex(of: separator), message.suffix(2) == [separator, separator] else { return nil }
    guard let authzid = Self.authzid(message[..<start]) else { return nil }
    self.authzid = authzid
    var authorization: String?
    for pair in message[(start + 1)...].dropLast().split(separator: separator) {
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex,
        pair[..<equals].allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }),
        let value = String(validating: pair[(equals + 1)...], as: UTF8.self)
      else { return nil }
      if pair[..<equals].elementsEqual("auth".utf8) { authorization = value }
    }
    guard let authorization else { return nil }
    // RFC 6750 2.1; schemes are case-insensitive (RFC 9110 11.1).
    let scheme = authorization.prefix { $0 != " " }
    let token = authorization.dropFirst(scheme.count).drop { $0 == " " }
    self.token =
      scheme.lowercased() == "bearer" && !token.isEmpty && token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      ? String(token) : nil
  }

  /// Returns the identity: `.some(nil)` if there is none, `nil` if the header is invalid (RFC 5801 4). Nothing is bound
  /// to a channel.
  private static func authzid(_ header: ArraySlice<UInt8>) -> String?? {
    let parts = header.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].isEmpty, parts[0].elementsEqual("n".utf8) || parts[0].elementsEqual("y".utf8)
    else { return nil }
    if parts[1].isEmpty { return .some(nil) }
    guard parts[1].starts(with: "a=".utf8), String(validating: parts[1], as: UTF8.self) != nil,
      let name = try? SCRAMClientFirst.unescape(parts[1].dropFirst(2))
    else { return nil }
    return name
  }
}
