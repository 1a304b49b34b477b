import Basics
import Dialogs

/// The identities of users besides their address.
extension Reader {
  func user(of identity: Identity, in realm: RealmID) throws -> UserID? {
    try connection(.userByIdentity).bind(1, realm.number).bind(2, identity.issuer.stored).bind(3, identity.subject)
      .first { UserID($0.int(0)) }
  }

  func identities(of user: UserID) throws -> [UserIdentity] {
    try connection(.identities).bind(1, user.number).all { row in
      guard let issuer = Identity.Issuer(stored: row.text(0)) else {
        throw StoreFailure.corrupt("an identity of user \(user.number) has an unknown issuer")
      }
      return UserIdentity(
        Identity(issuer, row.text(1)), of: user, since: Timestamp(milliseconds: row.int(2)))
    }
  }
}

extension Writer {
  func put(_ identity: UserIdentity, in realm: RealmID) throws {
    let (issuer, subject) = (identity.identity.issuer.stored, identity.identity.subject)
    try connection(.insertIdentity).bind(1, realm.number).bind(2, issuer).bind(3, subject).bind(4, identity.user.number)
      .bind(5, identity.since.milliseconds).run()
    guard try user(of: identity.identity, in: realm) == identity.user else { throw StoreConflict() }
    try refreshMatchKeys(of: identity.user)
  }

  func remove(_ identity: Identity, of user: UserID) throws {
    try connection(.deleteIdentity).bind(1, user.number).bind(2, identity.issuer.stored).bind(3, identity.subject).run()
    try refreshMatchKeys(of: user)
  }

  func endGuest(_ user: UserID) throws { try connection(.endGuest).bind(1, user.number).run() }
}

extension Identity.Issuer {
  /// The stored form, which must never change.
  var stored: String {
    switch self {
    case .external: "external"
    case .email: "email"
    case .phone: "phone"
    case .provider(let name): "provider:" + name
    }
  }

  fileprivate init?(stored: String) {
    switch stored {
    case "external": self = .external
    case "email": self = .email
    case "phone": self = .phone
    default:
      guard stored.hasPrefix("provider:") else { return nil }
      self = .provider(String(stored.dropFirst("provider:".count)))
    }
  }
}

extension Query {
  static let deleteIdentities = Query("DELETE FROM identities WHERE user = ?1")
  fileprivate static let userByIdentity = Query(
    "SELECT user FROM identities WHERE realm = ?1 AND issuer = ?2 AND subject = ?3")
  fileprivate static let identities = Query(
    "SELECT issuer, subject, since FROM identities WHERE user = ?1 ORDER BY issuer, subject")
  fileprivate static let insertIdentity = Query(
    "INSERT INTO identities (realm, issuer, subject, user, since) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING")
  fileprivate static let endGuest = Query("UPDATE users SET guest = 0 WHERE id = ?1")
  fileprivate static let deleteIdentity = Query(
    "DELETE FROM identities WHERE user = ?1 AND issuer = ?2 AND subject = ?3")
}
