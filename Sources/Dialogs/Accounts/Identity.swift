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

public protocol IdentityReader {
  func user(of identity: Identity, in realm: RealmID) throws -> UserID?
  /// Returns the user's identities, by issuer and subject.
  func identities(of user: UserID) throws -> [UserIdentity]
}

public protocol IdentityWriter {
  /// Stores an identity. Throws `StoreConflict` if it is another user's; a repeat keeps the time of the first.
  func put(_ identity: UserIdentity, in realm: RealmID) throws
  func remove(_ identity: Identity, of user: UserID) throws
  /// Makes a guest an ordinary user.
  func endGuest(_ user: UserID) throws
}
