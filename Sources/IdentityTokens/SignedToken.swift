import Basics
import Dialogs
import JSON

/// A parsed and unverified token in the compact form of RFC 7515 3.1.
struct SignedToken {
  let algorithm: TokenKey.Algorithm
  let header: JSONValue
  let claims: JSONValue
  let signature: [UInt8]
  /// The bytes that are signed.
  let signed: [UInt8]

  /// The id of the key (`kid`).
  var keyID: String? { header["kid"]?.string }

  /// Parses a token.
  ///
  /// - Throws: `.tooLarge`; `.unauthenticated` for an invalid token, and for an algorithm that is never accepted, such
  ///   as `none`.
  init(_ text: String, field: String) throws(Problem) {
    let bytes = Array(text.utf8)
    guard bytes.count <= IdentityLimits.tokenBytesMax else {
      throw Problem(
        .tooLarge, "identity-token-too-long", "\(field) has at most \(IdentityLimits.tokenBytesMax) bytes.",
        field: field)
    }
    let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let headerBytes = Base64URL.decode(parts[0]), let claimBytes = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { throw .invalid("it is not three parts in base64url") }
    // The parser refuses duplicate members (RFC 7515 4, RFC 8725 2.4).
    guard let header = try? JSONValue(parsing: headerBytes), case .object = header,
      let claims = try? JSONValue(parsing: claimBytes), case .object = claims
    else { throw .invalid("header or claims are no JSON object") }
    // 4.1.11: no critical extensions are supported.
    if header["crit"] != nil { throw .invalid("its header has extensions that are not understood") }
    guard let algorithm = header["alg"]?.string.flatMap(TokenKey.Algorithm.init) else {
      let names = TokenKey.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid("alg is none of \(names)")
    }
    if let keyID = header["kid"], keyID.string == nil { throw .invalid("kid is no text") }
    self.algorithm = algorithm
    self.header = header
    self.claims = claims
    self.signature = signature
    signed = Array(bytes[..<(bytes.count - parts[2].count - 1)])
  }

  // MARK: Claims

  /// Returns a NumericDate (RFC 7519 2): seconds, possibly with a fraction, which is cut.
  func time(_ name: String) throws(Problem) -> Int64? {
    guard let value = claims[name] else { return nil }
    // Far below the bound where a Double cannot count single seconds.
    guard case .number(let text) = value, let seconds = Double(text), (0...1e13).contains(seconds) else {
      throw .invalid("\(name) is no time")
    }
    return Int64(seconds)
  }

  func requiredTime(_ name: String) throws(Problem) -> Int64 {
    guard let time = try time(name) else { throw .invalid("\(name) is missing") }
    return time
  }

  /// Returns a text without control characters, which XML and people cannot read. Empty counts as absent.
  func text(_ name: String, bytesMax: Int) throws(Problem) -> String? {
    guard let value = claims[name], value != .null else { return nil }
    guard let text = value.string, text.utf8.count <= bytesMax, text.isPlain else {
      throw .invalid("\(name) is no text of at most \(bytesMax) bytes without control characters")
    }
    return text.isEmpty ? nil : text
  }

  /// Checks the times of a token (RFC 7519 4.1.4 to 4.1.6).
  func checkTimes(now: Timestamp, lifetimeMax: Int64, needsNotBefore: Bool) throws(Problem) {
    let (now, skew) = (now.milliseconds / 1_000, IdentityLimits.skewSeconds)
    let (issued, ends) = (try requiredTime("iat"), try requiredTime("exp"))
    guard ends > now - skew else { throw .expired }
    guard issued <= now + skew else { throw .invalid("iat is in the future") }
    guard ends > issued, ends - issued <= lifetimeMax else {
      throw .invalid("exp is at most \(lifetimeMax) seconds behind iat")
    }
    let begins = needsNotBefore ? try requiredTime("nbf") : try time("nbf")
    if let begins, begins > now + skew { throw .invalid("nbf is in the future") }
  }
}

extension String {
  /// Whether it has no control characters (C0, C1, DEL) and none that XML 1.0 2.2 forbids.
  var isPlain: Bool {
    unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) && $0.value & 0xfffe != 0xfffe }
  }
}
