import Basics
import Crypto
import Dialogs

/// What `Parley.accountSecret` is used for: hashing what is too short to be hashed alone, and sealing what must be read again. It
/// is beside the database and never in it: who has that alone can do nothing with either.
enum Secrets {
  /// What a derived key is for.
  enum Use: String {
    case code = "parley one-time code"
    case recoveryCode = "parley recovery code"
    case secondFactor = "parley second factor"
    case challenge = "parley challenge"
  }
}

extension TokenSecret {
  private func key(_ use: Secrets.Use) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Array(use.rawValue.utf8), outputByteCount: 32)
  }

  /// A keyed hash: of a code of six digits a plain one could be reversed by trying them all.
  func hash(_ parts: [String], _ use: Secrets.Use) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(parts.joined(separator: "\0").utf8), using: key(use)))
  }

  /// - Parameter context: what it is sealed for: opens with the same only.
  func seal(_ bytes: [UInt8], _ use: Secrets.Use, context: String = "") throws -> [UInt8] {
    let box = try AES.GCM.seal(bytes, using: key(use), authenticating: Array(context.utf8))
    guard let combined = box.combined else { throw Problem.storage }
    return Array(combined)
  }

  /// nil: it is not ours, or was changed.
  func open(_ bytes: [UInt8], _ use: Secrets.Use, context: String = "") -> [UInt8]? {
    guard let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = try? AES.GCM.open(box, using: key(use), authenticating: Array(context.utf8))
    else { return nil }
    return Array(opened)
  }
}

/// What tokens of clients are made with. It is kept beside the database and never in it: who has got hold of the
/// database, or of a backup, can make no token. Does not print itself.
public struct TokenSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  public static let byteCount = 32
  let key: SymmetricKey

  /// - Parameter bytes: at least `byteCount` random ones, the same over restarts; with others all tokens are void.
  public init(_ bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

  public static func random() -> TokenSecret {
    TokenSecret(.random(count: byteCount))
  }

  /// 256 bits in letters, digits, `-` and `_`.
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
