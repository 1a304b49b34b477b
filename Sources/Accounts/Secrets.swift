import Basics
import Crypto
import Dialogs

/// Uses of `Accounts.Options.accountSecret`: hashing values that are too short for a plain hash, and sealing values
/// that must be read again. The secret is stored beside the database and never in it: the database alone is useless for
/// either.
enum Secrets {
  /// The purpose of a derived key.
  enum Use: String {
    case code = "parley one-time code"
    case recoveryCode = "parley recovery code"
    case secondFactor = "parley second factor"
    case challenge = "parley challenge"
    case accessToken = "parley access token"
    case refreshToken = "parley refresh token"
  }
}

extension TokenSecret {
  private func key(_ use: Secrets.Use) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Array(use.rawValue.utf8), outputByteCount: 32)
  }

  /// Returns a keyed hash: the plain one of a six-digit code could be reversed by trying them all.
  func hash(_ parts: [String], _ use: Secrets.Use) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(parts.joined(separator: "\0").utf8), using: key(use)))
  }

  /// Seals bytes.
  ///
  /// - Parameter context: the context, without which they cannot be opened.
  func seal(_ bytes: [UInt8], _ use: Secrets.Use, context: String = "") throws -> [UInt8] {
    let box = try AES.GCM.seal(bytes, using: key(use), authenticating: Array(context.utf8))
    guard let combined = box.combined else { throw Problem.storage }
    return Array(combined)
  }

  /// Opens sealed bytes; `nil` if they are foreign or were changed.
  func open(_ bytes: [UInt8], _ use: Secrets.Use, context: String = "") -> [UInt8]? {
    guard let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = try? AES.GCM.open(box, using: key(use), authenticating: Array(context.utf8))
    else { return nil }
    return Array(opened)
  }
}

/// The secret that makes clients' tokens. It is stored beside the database and never in it: the database, or a backup,
/// does not suffice to make a token. It does not print itself.
public struct TokenSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  public static let byteCount = 32
  let key: SymmetricKey

  /// Creates the secret.
  ///
  /// - Parameter bytes: at least `byteCount` random bytes, the same over restarts; with others all tokens are void.
  public init(_ bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

  public static func random() -> TokenSecret {
    TokenSecret(.random(count: byteCount))
  }

  /// Returns a token of 256 bits in letters, digits, `-` and `_`.
  func token(_ token: Client.Token, of user: UserID) -> String {
    var message = Array("parley client token\0".utf8)
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: user.number >> Int64(shift)))
    }
    message += Array(token.mechanism.utf8) + [0] + token.nonce
    return Base64URL.string(Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
  }

  public var description: String { "TokenSecret" }
  public var debugDescription: String { "TokenSecret" }
}
