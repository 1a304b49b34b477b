public import Basics

/// A code that was sent to a mail address or a telephone. One is valid at a time for one subject and purpose.
public struct OneTimeCode: Hashable, Sendable {
  /// The address it was sent to.
  public let identity: Identity
  /// The user who proves the address; `nil` for a code to sign in with.
  public let user: UserID?
  /// A keyed hash of the code, for this subject and purpose.
  public let hash: [UInt8]
  public let expires: Timestamp
  public var attemptsLeft: Int

  public init(identity: Identity, user: UserID?, hash: [UInt8], expires: Timestamp, attemptsLeft: Int) {
    self.identity = identity
    self.user = user
    self.hash = hash
    self.expires = expires
    self.attemptsLeft = attemptsLeft
  }
}

public protocol OneTimeCodeReader {
  func code(for identity: Identity, of user: UserID?, in realm: RealmID) throws -> OneTimeCode?
}

public protocol OneTimeCodeWriter {
  /// Stores a code, replacing the previous one.
  func put(_ code: OneTimeCode, in realm: RealmID) throws
  func removeCode(for identity: Identity, of user: UserID?, in realm: RealmID) throws
  func removeCodes(endedBy time: Timestamp) throws
}
