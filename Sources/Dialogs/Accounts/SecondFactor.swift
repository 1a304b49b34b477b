public import Basics

/// A second factor of a user: a code of their authenticator app (`TOTP`) or one sent to their telephone, or instead one
/// of their recovery codes.
public struct SecondFactor: Hashable, Sendable {
  /// The source of the codes.
  public enum Method: String, Sendable, CaseIterable {
    /// An authenticator app.
    case totp
    /// Codes are sent to the telephone number that the user has proved.
    case sms
  }

  public let user: UserID
  /// The secret of the `TOTP`, sealed with a key that is not in the database; empty if codes are sent.
  public var sealedSecret: [UInt8]
  /// Whether it is on; `false` before the confirmation.
  public var isOn: Bool
  /// The last step whose code was accepted: neither it nor an earlier one is accepted again.
  public var lastStep: Int64
  public let createdAt: Timestamp

  public init(user: UserID, sealedSecret: [UInt8], isOn: Bool, lastStep: Int64, createdAt: Timestamp) {
    self.user = user
    self.sealedSecret = sealedSecret
    self.isOn = isOn
    self.lastStep = lastStep
    self.createdAt = createdAt
  }

  public var method: Method { sealedSecret.isEmpty ? .sms : .totp }
}

extension SecondFactor: Record {
  public enum Field: String, CaseIterable, Sendable {
    case user, sealedSecret = "secret", isOn = "is_on", lastStep = "last_step", createdAt = "created"
  }
  public static let kind = "second_factors"
  public static let key: [Field] = [.user]
  public var fields: [FieldValue] {
    [user.field, sealedSecret.field, isOn.field, lastStep.field, createdAt.field]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      user: fields.next(), sealedSecret: fields.next(), isOn: fields.next(), lastStep: fields.next(),
      createdAt: fields.next())
  }
}

/// An unused recovery code.
struct RecoveryCode {
  let user: UserID
  /// The keyed hash of the code.
  let hash: [UInt8]
}

extension RecoveryCode: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, hash
  }
  static let kind = "recovery_codes"
  static let key: [Field] = [.user, .hash]
  var fields: [FieldValue] {
    [user.field, hash.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(user: fields.next(), hash: fields.next())
  }
}

extension RecordReader {
  public func secondFactor(of user: UserID) throws -> SecondFactor? {
    try record(SecondFactor.self, .equal(.user, user))
  }

  /// Returns the second factors that are on, at most `limit`.
  public func secondFactors(limit: Int) throws -> [SecondFactor] {
    try records(SecondFactor.self, .equal(.isOn, true), limit: limit)
  }

  /// Returns the keyed hashes of unused recovery codes.
  public func recoveryCodes(of user: UserID) throws -> [[UInt8]] {
    try records(RecoveryCode.self, .equal(.user, user)).map(\.hash)
  }
}

extension RecordWriter {
  /// Replaces all recovery codes.
  public func setRecoveryCodes(_ hashes: [[UInt8]], of user: UserID) throws {
    try remove(RecoveryCode.self, .equal(.user, user))
    for hash in hashes { try put(RecoveryCode(user: user, hash: hash)) }
  }

  public func removeRecoveryCode(_ hash: [UInt8], of user: UserID) throws {
    try remove(RecoveryCode.self, .equal(.user, user), .equal(.hash, hash))
  }

  /// Removes a factor with its recovery codes.
  public func removeSecondFactor(of user: UserID) throws {
    try remove(SecondFactor.self, .equal(.user, user))
    try remove(RecoveryCode.self, .equal(.user, user))
  }
}
