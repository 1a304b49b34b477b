public import Basics

/// A link to reset a password.
public struct PasswordReset: Hashable, Sendable {
  /// The SHA-256 of the token in the link.
  public let hash: [UInt8]
  /// The user; `nil` if it was requested for an unknown address.
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
