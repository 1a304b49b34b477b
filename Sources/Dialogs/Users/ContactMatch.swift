import Addresses
import Basics
import Crypto

// Which of somebody's telephone contacts are here, without their numbers being sent. Theory:
//
// Clients hash each number and address with the realm's salt, and the store keeps the same hashes of those users who let
// themselves be found. Telephone numbers are few: whoever has the salt, as every user has, can hash them all. So the hashes hide
// numbers from a log or a proxy that sees them pass, and not from this server or from whoever gets its file. What keeps others
// from finding out who is here is the count: so many numbers a day and user, and nobody who has not said so.

/// The hash that stands for a telephone number or a mail address.
public enum ContactMatch {
  static let saltItem = "contact-match-salt"

  /// SHA-256 of the salt, as text, and the number (E.164 with its plus) or address (in lower case) behind it.
  public static func key(_ subject: String, salt: String) -> [UInt8] {
    Array(SHA256.hash(data: Array((salt + subject).utf8)))
  }

  /// What an identity is matched by; nil: by nothing.
  public static func subject(of identity: Identity) -> String? {
    switch identity.issuer {
    case .email, .phone: identity.subject
    case .external, .provider: nil
    }
  }

  /// 128 random bits in hex, made when they are needed first, the same for ever.
  package static func salt(of realm: RealmID, _ writer: any StoreWriter) throws -> String {
    if let salt = try writer.matchSalt(of: realm) { return salt }
    let salt = Hex.string([UInt8].random(count: 16))
    try writer.setVault(realm, item: saltItem, Array(salt.utf8))
    return salt
  }
}

extension StoreReader {
  /// nil: none was needed yet.
  public func matchSalt(of realm: RealmID) throws -> String? {
    try vault(realm, item: ContactMatch.saltItem).map { String(decoding: $0, as: UTF8.self) }
  }
}

public protocol ContactMatchReader {
  /// The users whose telephone number or mail address has this key, who let themselves be found by it.
  func users(matching key: [UInt8], in realm: RealmID) throws -> [UserID]
}
