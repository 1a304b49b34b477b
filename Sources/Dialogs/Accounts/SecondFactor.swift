public import Basics

/// What a user proves besides who they are: a code that their authenticator program makes (`TOTP`) or that is sent to their
/// telephone, or in its place one of the recovery codes that they wrote down.
public struct SecondFactor: Hashable, Sendable {
  /// Where its codes come from.
  public enum Method: String, Sendable, CaseIterable {
    /// An authenticator program.
    case totp
    /// They are sent to the telephone number that the user has proved.
    case sms
  }

  public let user: UserID
  /// Of the `TOTP`; sealed with a key that is not in the database. Empty: there is none, codes are sent.
  public var sealedSecret: [UInt8]
  /// false: made and not confirmed; it is asked of nobody.
  public var isOn: Bool
  /// The last step whose code was taken: no earlier one is, nor this again.
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
  /// Keyed hashes of those that were not used yet, in no order.
  func recoveryCodes(of user: UserID) throws -> [[UInt8]]
}

public protocol SecondFactorWriter {
  /// Inserts or replaces.
  func put(_ factor: SecondFactor) throws
  /// Replaces all.
  func setRecoveryCodes(_ hashes: [[UInt8]], of user: UserID) throws
  func removeRecoveryCode(_ hash: [UInt8], of user: UserID) throws
  /// With its recovery codes.
  func removeSecondFactor(of user: UserID) throws
}
