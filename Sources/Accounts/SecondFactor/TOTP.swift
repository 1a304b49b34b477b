public import Basics
import Crypto
import Dialogs

/// Time-based one-time passwords (RFC 6238) with the parameters of all authenticator apps: HMAC-SHA-1, steps of 30
/// seconds from 1970 on, six digits.
public struct TOTP: Hashable, Sendable {
  /// The length of the secret: that of the hash (RFC 6238 5.1).
  static let secretByteCount = 20
  static let stepSeconds: Int64 = 30
  static let digits = 6
  /// The valid steps before and after the server's: one, for differing clocks and the time for typing (RFC 6238 5.2
  /// recommends no more).
  static let drift: Int64 = 1

  let secret: [UInt8]

  static func random() -> TOTP { TOTP(secret: .random(count: secretByteCount)) }

  init(secret: [UInt8]) { self.secret = secret }

  /// Creates the generator from a secret as it was shown; `nil` if it is invalid.
  public init?(base32 text: String) {
    guard let bytes = Base32.decode(text.utf8) else { return nil }
    secret = bytes
  }

  /// Returns the code of a time, so many steps later.
  public func code(at time: Timestamp, later: Int64 = 0) -> String { code(Self.step(at: time) + later) }

  static func step(at time: Timestamp) -> Int64 { time.milliseconds / 1_000 / stepSeconds }

  /// Returns the code of a step (RFC 4226 5.3).
  func code(_ step: Int64) -> String {
    let counter = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: step >> Int64($0)) }
    let hash = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret)))
    let offset = Int(hash[19] & 0x0f)
    let number = hash[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: Self.digits - text.count) + text
  }

  /// Returns the step of a code, among the currently valid ones after `last`: a code works once (RFC 6238 5.2). All are
  /// compared, each in constant time.
  func step(of code: String, at now: Timestamp, after last: Int64) -> Int64? {
    let current = Self.step(at: now)
    var found: Int64?
    for step in (current - Self.drift)...(current + Self.drift)
    where Array(self.code(step).utf8).isEqualInConstantTime(to: Array(code.utf8)) && step > last {
      found = step
    }
    return found
  }

  /// The secret as authenticator programs take it.
  var base32: String { Base32.string(secret) }

  /// Returns the de facto `otpauth` URI of authenticator apps, for a QR code.
  func uri(account: String, issuer: String) -> String {
    let (account, issuer) = (PercentEncoding.encode(account), PercentEncoding.encode(issuer))
    return "otpauth://totp/\(issuer):\(account)?secret=\(base32)&issuer=\(issuer)&algorithm=SHA1"
      + "&digits=\(Self.digits)&period=\(Self.stepSeconds)"
  }
}
