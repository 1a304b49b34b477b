import Addresses
import Basics
import Crypto

// Finds the users among a user's telephone contacts without the numbers being sent. Theory:
//
// Clients hash each number and address with the realm's salt, and the store has the same hashes of the users who may be
// found. There are few telephone numbers, and every user has the salt, so that all can be hashed: the hashes protect
// the numbers from logs and proxies on the way, and not from this server or a reader of its files. The protection of
// users is the bound on numbers per day and user, and the setting without which no user is found.

/// The hash of a telephone number or mail address.
public enum ContactMatch {
  static let saltItem = "contact-match-salt"

  /// Returns SHA-256 of the salt, as text, followed by the number (E.164 with its plus) or the address (in lower case).
  public static func key(_ subject: String, salt: String) -> [UInt8] {
    Array(SHA256.hash(data: Array((salt + subject).utf8)))
  }

  /// Returns the number or address by which an identity is found; nil if it cannot be.
  public static func subject(of identity: Identity) -> String? {
    switch identity.issuer {
    case .email, .phone: identity.subject
    case .external, .provider: nil
    }
  }

  /// Returns the realm's salt, 128 random bits in hex, creating it if need be. It never changes.
  package static func salt(of realm: RealmID, _ writer: any StoreWriter) throws -> String {
    if let salt = try writer.matchSalt(of: realm) { return salt }
    let salt = Hex.string([UInt8].random(count: 16))
    try writer.setVault(realm, item: saltItem, Array(salt.utf8))
    return salt
  }
}

extension StoreReader {
  /// Returns the realm's salt; nil if none was needed yet.
  public func matchSalt(of realm: RealmID) throws -> String? {
    try vault(realm, item: ContactMatch.saltItem).map { String(decoding: $0, as: UTF8.self) }
  }
}

public protocol ContactMatchReader {
  /// The users whose telephone number or mail address has this key, who let themselves be found by it.
  func users(matching key: [UInt8], in realm: RealmID) throws -> [UserID]
}
