public import Basics
import Crypto
public import Dialogs

// Nonces, which make an external token usable only once. Theory:
//
// A nonce contains its own expiry, under a seal that only this realm can make. So requesting nonces stores nothing.
// Only a used one leaves a row, until it expires; the row is written in the transaction of that login, so that of two
// logins with one nonce one is refused, whenever the process ends.

/// A nonce of this server that has not expired.
struct Nonce: Hashable, Sendable {
  /// 128 random bits, as text.
  let id: String
  let expires: Timestamp
}

extension Accounts {
  /// Returns a nonce that is valid once, in this realm, until it expires.
  public func makeNonce(in realm: RealmID) throws(Problem) -> (text: String, expires: Timestamp) {
    guard let realm = parley.realmTable.realm(realm) else { throw Problem.unreachable }
    let expires = parley.clock.now + AccountLimits.nonceLifetime
    let id = Base64URL.string([UInt8].random(count: 16))
    return (Self.sealed(Nonce(id: id, expires: expires), realm), expires)
  }

  enum NonceReading: Hashable {
    case good(Nonce)
    case expired
    /// The nonce was not created by this server, or for another realm.
    case foreign
  }

  func read(nonce text: String, in realm: RealmID) -> NonceReading {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, text.utf8.count <= AccountLimits.nonceBytesMax, let realm = parley.realmTable.realm(realm),
      let milliseconds = Int64(parts[1])
    else { return .foreign }
    let nonce = Nonce(id: String(parts[0]), expires: Timestamp(milliseconds: milliseconds))
    // Made again and compared as a whole: each nonce has only one spelling.
    guard Array(Self.sealed(nonce, realm).utf8).isEqualInConstantTime(to: Array(text.utf8)) else { return .foreign }
    return nonce.expires > parley.clock.now ? .good(nonce) : .expired
  }

  /// Returns `ID.MILLISECONDS.SEAL`. A restored backup has another epoch, so that nonces used after the backup are not
  /// valid again.
  private static func sealed(_ nonce: Nonce, _ realm: Realm) -> String {
    let key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: realm.key), info: Array("parley nonce \(realm.currentEpoch)".utf8),
      outputByteCount: 32)
    let body = "\(nonce.id).\(nonce.expires.milliseconds)"
    let seal = HMAC<SHA256>.authenticationCode(for: Array(body.utf8), using: key)
    return "\(body).\(Base64URL.string(seal.prefix(16)))"
  }

  static func use(_ nonce: Nonce, in realm: RealmID, now: Timestamp, _ writer: any StoreWriter) throws {
    do { try writer.use(nonce: nonce.id, in: realm, until: nonce.expires, now: now) } catch is StoreConflict {
      throw Problem.nonceInvalid
    }
  }
}

extension Problem {
  static let nonceInvalid = Problem(
    .unauthenticated, "nonce-invalid", "The nonce was used, is too old, or is none of this server's; ask for a new one."
  )
}
