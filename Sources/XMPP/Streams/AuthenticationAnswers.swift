// What the caller of `AuthenticationMachine` has found out, one type for each of its questions.

/// Whether an account whose password was right may be used.
public enum AccountStanding: Sendable, Equatable {
  case active
  /// RFC 6120 6.5.2.
  case disabled
  /// The password must be changed first (RFC 6120 6.5.3).
  case expired
}

/// The answer to `needCredentials`.
public enum CredentialsAnswer: Sendable, Equatable {
  case found(SCRAMCredentials, AccountStanding)
  /// There is no such user.
  case unknown
  /// There is one, but without keys for this mechanism.
  case unusable
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `verifyPassword`.
public enum PasswordAnswer: Sendable, Equatable {
  case right(AccountStanding)
  /// The password is wrong or the user unknown.
  case wrong
  /// The store cannot tell now.
  case unavailable
}

/// A password on its way to be verified. Does not print itself.
public struct Password: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  /// Prepared with OpaqueString.
  public let text: String
  public init(_ text: String) { self.text = text }
  public var description: String { "Password" }
  public var debugDescription: String { "Password" }
}

/// The answer to `verifyToken`.
public enum TokenAnswer: Sendable, Equatable {
  /// With what proves that the server knows the token too.
  case right([UInt8], AccountStanding)
  /// There is no such token, or it was used in this way before.
  case wrong
  /// It was right, and is so no more (XEP-0484 4.2).
  case expired
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `verifyBearer`.
public enum BearerAnswer: Sendable, Equatable {
  /// Whose token it is: a prepared name.
  case right(username: String, AccountStanding)
  case wrong
  /// The store cannot tell now.
  case unavailable
}

/// The answer to `needGuest`.
public enum GuestAnswer: Sendable, Equatable {
  /// Who they are: a prepared name.
  case made(username: String)
  /// There are too many, or none can be made now; why, for people.
  case refused(String)
}
