import Basics
import Crypto
import Dialogs

/// The token between the first and the second factor of a login. It is not stored: sealed, it contains everything
/// needed.
struct Challenge: Equatable {
  let user: UserID
  let expires: Timestamp
  /// The fingerprint of the user's passwords: a new password voids the challenge.
  let fingerprint: [UInt8]

  init(user: UserID, expires: Timestamp, fingerprint: [UInt8]) {
    self.user = user
    self.expires = expires
    self.fingerprint = fingerprint
  }

  static func fingerprint(of keys: [SCRAMKeys]) -> [UInt8] {
    Array(SHA256.hash(data: keys.flatMap { $0.salt + $0.storedKey }).prefix(16))
  }

  func text(_ secret: TokenSecret) throws -> String {
    var bytes: [UInt8] = []
    for number in [user.number, expires.milliseconds] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
      }
    }
    return Base64URL.string(try secret.seal(bytes + fingerprint, .challenge))
  }

  /// Opens a challenge; `nil` if it is invalid or expired.
  init?(_ text: String, _ secret: TokenSecret, now: Timestamp) {
    guard text.utf8.count <= 256, let sealed = Base64URL.decode(text.utf8), let bytes = secret.open(sealed, .challenge),
      bytes.count == 32
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 << 8 | Int64($1) } }
    self.init(
      user: UserID(number(0..<8)), expires: Timestamp(milliseconds: number(8..<16)), fingerprint: Array(bytes[16...]))
    guard expires > now else { return nil }
  }
}
