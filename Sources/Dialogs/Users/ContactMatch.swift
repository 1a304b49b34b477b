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
    try writer.setValue(of: realm, item: saltItem, Array(salt.utf8))
    return salt
  }
}

extension StoreReader {
  /// Returns the realm's salt; nil if none was needed yet.
  public func matchSalt(of realm: RealmID) throws -> String? {
    try value(of: realm, item: ContactMatch.saltItem).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// A key by which a user lets themselves be found.
struct MatchKey {
  let realm: RealmID
  let key: [UInt8]
  let user: UserID
}

extension MatchKey: Record {
  enum Field: String, CaseIterable, Sendable {
    case realm, key, user
  }
  static let kind = "match_keys"
  static let key: [Field] = [.realm, .key, .user]
  var fields: [FieldValue] {
    [realm.field, key.field, user.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(realm: fields.next(), key: fields.next(), user: fields.next())
  }
}

extension RecordReader {
  /// Returns the users whose telephone number or mail address has this key, who let themselves be found by it.
  public func users(matching key: [UInt8], in realm: RealmID) throws -> [UserID] {
    try records(MatchKey.self, .equal(.realm, realm), .equal(.key, key)).map(\.user)
  }
}

extension StoreWriter {
  /// Stores the keys of the user's present identities, as their settings allow.
  func refreshMatchKeys(of user: UserID) throws {
    try remove(MatchKey.self, .equal(.user, user))
    guard try userSettings(of: user).isMatchable, let realm = try party(user)?.realm,
      let salt = try matchSalt(of: realm)
    else { return }
    for identity in try identities(of: user) {
      guard let subject = ContactMatch.subject(of: identity.identity) else { continue }
      try put(MatchKey(realm: realm, key: ContactMatch.key(subject, salt: salt), user: user))
    }
  }
}
