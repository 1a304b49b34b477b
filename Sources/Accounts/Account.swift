public import Basics
public import Dialogs

/// What a user, and the operator, may know of an account, and nobody else.
public struct Account: Hashable, Sendable {
  /// By issuer and subject.
  public let identities: [UserIdentity]
  public let hasPassword: Bool
  /// Whether a second factor is asked for.
  public let hasSecondFactor: Bool
  /// When they last signed in with an app; nil: never.
  public let lastLogin: Timestamp?

  public init(of user: UserID, _ reader: any StoreReader) throws {
    identities = try reader.identities(of: user)
    hasPassword = try Accounts.hasPassword(user, reader)
    hasSecondFactor = try reader.secondFactor(of: user)?.isOn ?? false
    lastLogin = try reader.lastLogin(of: user)
  }

  /// The address of this kind; nil: none was proved.
  public func subject(_ issuer: Identity.Issuer) -> String? {
    identities.first { $0.identity.issuer == issuer }?.identity.subject
  }
}
