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

extension PasswordReset: Record {
  public enum Field: String, CaseIterable, Sendable {
    case hash, user, expires
  }
  public static let kind = "password_resets"
  public static let key: [Field] = [.hash]
  public var fields: [FieldValue] {
    // A user of 0 stands for none.
    [hash.field, (user ?? UserID(0)).field, expires.field]
  }
  public init(_ fields: inout FieldReader) throws {
    hash = try fields.next()
    let user: UserID = try fields.next()
    self.user = user.number == 0 ? nil : user
    expires = try fields.next()
  }
}

extension RecordReader {
  public func passwordReset(token hash: [UInt8]) throws -> PasswordReset? {
    try record(PasswordReset.self, .equal(.hash, hash))
  }
}

extension RecordWriter {
  public func removePasswordResets(of user: UserID) throws { try remove(PasswordReset.self, .equal(.user, user)) }

  public func removePasswordResets(endedBy time: Timestamp) throws {
    try remove(PasswordReset.self, .atMost(.expires, time))
  }
}
