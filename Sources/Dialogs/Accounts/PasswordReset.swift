public import Basics

/// What a link of a password reset stands for.
public struct PasswordReset: Hashable, Sendable {
  /// SHA-256 of the token in the link.
  public let hash: [UInt8]
  /// nil: nobody's. It was asked for an address that nobody has.
  public let user: UserID?
  public let expires: Timestamp

  public init(hash: [UInt8], user: UserID?, expires: Timestamp) {
    self.hash = hash
    self.user = user
    self.expires = expires
  }
}

public protocol PasswordResetReader {
  func passwordReset(token hash: [UInt8]) throws -> PasswordReset?
}

public protocol PasswordResetWriter {
  func insert(_ reset: PasswordReset) throws
  func removePasswordResets(of user: UserID) throws
  func removePasswordResets(endedBy time: Timestamp) throws
}
