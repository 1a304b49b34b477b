/// The answer to a question of `AuthenticationMachine`.
public enum AuthenticationAnswer: Sendable {
  /// The answer to `needCredentials`, and the server's part of the nonce: fresh random printable ASCII without commas.
  case credentials(CredentialsAnswer, nonce: String)
  /// The answer to `verifyPassword`.
  case password(PasswordAnswer)
  /// The answer to `verifyToken`.
  case token(TokenAnswer)
  /// The answer to `verifyBearer`.
  case bearer(BearerAnswer)
  /// The answer to `needGuest`.
  case guest(GuestAnswer)
  /// The upgrades of `needUpgrades` that the user needs.
  case upgrades([SCRAMUpgrade])
  /// The outcome of `storeUpgrade`.
  case upgrade(UpgradeAnswer)
}

/// The state of an account whose password was right.
public enum AccountState: Sendable, Equatable {
  case active
  /// RFC 6120 6.5.2.
  case disabled
  /// The password must be changed first (RFC 6120 6.5.3).
  case expired
}

/// The answer to `needCredentials`.
public enum CredentialsAnswer: Sendable, Equatable {
  case found(SCRAMCredentials, AccountState)
  /// There is no such user.
  case unknown
  /// The user has no keys for this mechanism.
  case unusable
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `verifyPassword`.
public enum PasswordAnswer: Sendable, Equatable {
  case right(AccountState)
  /// The password is wrong or the user unknown.
  case wrong
  /// The store cannot tell now.
  case unavailable
}

/// A password on its way to be verified. It does not print itself.
public struct Password: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The password, prepared with OpaqueString.
  public let text: String
  public init(_ text: String) { self.text = text }
  public var description: String { "Password" }
  public var debugDescription: String { "Password" }
}

/// The answer to `verifyToken`.
public enum TokenAnswer: Sendable, Equatable {
  /// The token was right; the bytes prove that the server knows it too.
  case right([UInt8], AccountState)
  /// There is no such token, or it was used in this way before.
  case wrong
  /// It was right, but has expired (XEP-0484 4.2).
  case expired
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `verifyBearer`.
public enum BearerAnswer: Sendable, Equatable {
  /// The token was right; the name is prepared.
  case right(username: String, AccountState)
  case wrong
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `needGuest`.
public enum GuestAnswer: Sendable, Equatable {
  /// The guest was created; the name is prepared.
  case made(username: String)
  /// There are too many guests, or none can be created now; the text says why.
  case refused(String)
}
