public import Basics
public import Dialogs

/// An account's data that only its user and the operator may see.
public struct Account: Hashable, Sendable {
  /// The identities, by issuer and subject.
  public let identities: [UserIdentity]
  public let hasPassword: Bool
  /// Whether a second factor is on.
  public let hasSecondFactor: Bool
  /// The time of the last login with an app; `nil` if there was none.
  public let lastLogin: Timestamp?

  public init(of user: UserID, _ reader: any StoreReader) throws {
    identities = try reader.identities(of: user)
    hasPassword = try Accounts.hasPassword(user, reader)
    hasSecondFactor = try reader.secondFactor(of: user)?.isOn ?? false
    lastLogin = try reader.lastLogin(of: user)
  }

  /// Returns the proved address of this kind; `nil` if there is none.
  public func subject(_ issuer: Identity.Issuer) -> String? {
    identities.first { $0.identity.issuer == issuer }?.identity.subject
  }
}
