public import Basics

/// A password for one client (`Accounts.makeAppPassword`). Its keys have the salts and iterations of the account's
/// password: docs/decisions/0010-app-passwords.md explains why.
public struct AppPassword: Hashable, Sendable {
  public var id: Int64
  public let user: UserID
  /// The user's name for it.
  public let name: String
  public let createdAt: Timestamp
  /// The time of the last use; `nil` if it was never used.
  public var usedAt: Timestamp?

  public init(id: Int64, user: UserID, name: String, createdAt: Timestamp, usedAt: Timestamp?) {
    self.id = id
    self.user = user
    self.name = name
    self.createdAt = createdAt
    self.usedAt = usedAt
  }
}
