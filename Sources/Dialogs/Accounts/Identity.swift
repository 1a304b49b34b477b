public import Basics

/// Somebody as others know them: what a way to sign in proves, and what names a user besides their address. One user may have
/// several; each is one user's in its realm.
public struct Identity: Hashable, Sendable {
  /// Who vouches for the subject.
  public enum Issuer: Hashable, Sendable {
    /// The app's own backend: the subject is what it calls the user (`externalId`).
    case external
    /// The subject is a mail address, normalised.
    case email
    /// The subject is a telephone number (E.164, with its plus).
    case phone
    /// An OpenID provider, by the name that the configuration gives it; the subject is its `sub`.
    case provider(String)
  }

  public let issuer: Issuer
  public let subject: String

  public init(_ issuer: Issuer, _ subject: String) {
    self.issuer = issuer
    self.subject = subject
  }
}

/// Whose it is.
public struct UserIdentity: Hashable, Sendable {
  public let identity: Identity
  public let user: UserID
  /// Since when; for mail addresses and telephone numbers: when it was proved.
  public let since: Timestamp

  public init(_ identity: Identity, of user: UserID, since: Timestamp) {
    self.identity = identity
    self.user = user
    self.since = since
  }
}

public protocol IdentityReader {
  func user(of identity: Identity, in realm: RealmID) throws -> UserID?
  /// By issuer and subject.
  func identities(of user: UserID) throws -> [UserIdentity]
}

public protocol IdentityWriter {
  /// Throws `StoreConflict` when it is another user's; a repeat keeps the time of the first.
  func put(_ identity: UserIdentity, in realm: RealmID) throws
  func remove(_ identity: Identity, of user: UserID) throws
  /// The user is a guest no more.
  func endGuest(_ user: UserID) throws
}
