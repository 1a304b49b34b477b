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

public protocol SecondFactorReader {
  func secondFactor(of user: UserID) throws -> SecondFactor?
  /// Returns the keyed hashes of unused recovery codes, in no order.
  func recoveryCodes(of user: UserID) throws -> [[UInt8]]
}

public protocol SecondFactorWriter {
  /// Inserts or replaces a factor.
  func put(_ factor: SecondFactor) throws
  /// Replaces all recovery codes.
  func setRecoveryCodes(_ hashes: [[UInt8]], of user: UserID) throws
  func removeRecoveryCode(_ hash: [UInt8], of user: UserID) throws
  /// Removes a factor with its recovery codes.
  func removeSecondFactor(of user: UserID) throws
}
