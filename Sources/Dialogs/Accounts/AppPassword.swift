public import Basics

/// A password of its own for one client (`Parley.makeAppPassword`). Its keys have the salts and iterations of the
/// account's password: docs/decisions/0010-app-passwords.md says why.
public struct AppPassword: Hashable, Sendable {
  public var id: Int64
  public let user: UserID
  /// What the user calls it.
  public let name: String
  public let createdAt: Timestamp
  /// nil: never used.
  public var usedAt: Timestamp?

  public init(id: Int64, user: UserID, name: String, createdAt: Timestamp, usedAt: Timestamp?) {
    self.id = id
    self.user = user
    self.name = name
    self.createdAt = createdAt
    self.usedAt = usedAt
  }
}
