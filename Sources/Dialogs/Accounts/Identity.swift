public import Basics

/// An external identity of a user: a way to sign in proves it, and it refers to the user like their address. One user
/// may have several; each belongs to one user in its realm.
public struct Identity: Hashable, Sendable {
  /// The issuer of the subject.
  public enum Issuer: Hashable, Sendable {
    /// The app's own backend: the subject is its id of the user (`externalId`).
    case external
    /// The subject is a mail address, normalised.
    case email
    /// The subject is a telephone number (E.164, with its plus).
    case phone
    /// An OpenID provider, with its name in the configuration; the subject is its `sub`.
    case provider(String)
  }

  public let issuer: Issuer
  public let subject: String

  public init(_ issuer: Issuer, _ subject: String) {
    self.issuer = issuer
    self.subject = subject
  }
}

/// An identity with its user.
public struct UserIdentity: Hashable, Sendable {
  public let identity: Identity
  public let user: UserID
  /// The time when it was bound; for mail addresses and telephone numbers when it was proved.
  public let since: Timestamp

  public init(_ identity: Identity, of user: UserID, since: Timestamp) {
    self.identity = identity
    self.user = user
    self.since = since
  }
}

extension Identity.Issuer: FieldCodable {
  /// The stored form, which must never change.
  public var field: FieldValue {
    switch self {
    case .external: .text("external")
    case .email: .text("email")
    case .phone: .text("phone")
    case .provider(let name): .text("provider:" + name)
    }
  }

  public init?(field: FieldValue) {
    guard case .text(let text) = field else { return nil }
    switch text {
    case "external": self = .external
    case "email": self = .email
    case "phone": self = .phone
    default:
      guard text.hasPrefix("provider:") else { return nil }
      self = .provider(String(text.dropFirst("provider:".count)))
    }
  }
}

/// An identity, which belongs to one user in its realm.
struct BoundIdentity {
  let realm: RealmID
  let bound: UserIdentity
}

extension BoundIdentity: Record {
  enum Field: String, CaseIterable, Sendable {
    case realm, issuer, subject, user, since
  }
  static let kind = "identities"
  static let key: [Field] = [.realm, .issuer, .subject]
  var fields: [FieldValue] {
    [
      realm.field, bound.identity.issuer.field, bound.identity.subject.field, bound.user.field, bound.since.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    realm = try fields.next()
    bound = try UserIdentity(Identity(fields.next(), fields.next()), of: fields.next(), since: fields.next())
  }
}

extension RecordReader {
  private func bound(_ identity: Identity, in realm: RealmID) throws -> BoundIdentity? {
    try record(
      BoundIdentity.self, .equal(.realm, realm), .equal(.issuer, identity.issuer), .equal(.subject, identity.subject))
  }

  public func user(of identity: Identity, in realm: RealmID) throws -> UserID? {
    try bound(identity, in: realm)?.bound.user
  }

  /// Returns the user's identities, by issuer and subject.
  public func identities(of user: UserID) throws -> [UserIdentity] {
    try records(BoundIdentity.self, .equal(.user, user)).map(\.bound)
  }
}

extension StoreWriter {
  /// Stores an identity. Throws `StoreConflict` if it is another user's; a repeat keeps the time of the first.
  public func put(_ identity: UserIdentity, in realm: RealmID) throws {
    if let holder = try user(of: identity.identity, in: realm) {
      guard holder == identity.user else { throw StoreConflict() }
    } else {
      try put(BoundIdentity(realm: realm, bound: identity))
    }
    try refreshMatchKeys(of: identity.user)
  }

  public func remove(_ identity: Identity, of user: UserID) throws {
    try remove(
      BoundIdentity.self, .equal(.user, user), .equal(.issuer, identity.issuer), .equal(.subject, identity.subject))
    try refreshMatchKeys(of: user)
  }
}
