public import Basics

/// Reads push registrations and pending pushes.
public protocol PushReader {
  /// Returns the registrations of all users.
  func pushRegistrations() throws -> [PushRegistration]
  func pushRegistrations(of user: UserID) throws -> [PushRegistration]
  /// Returns the users for whom pushes are pending, each with the time of the oldest message; that is `nil` if the
  /// message was removed meanwhile. It reads all rows.
  func usersOwedPushes() throws -> [(user: UserID, since: Timestamp?)]
  /// Returns the newest pending pushes, ascending.
  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush]
}

/// Changes push registrations and pending pushes.
public protocol PushWriter {
  /// Inserts or replaces a registration, which is identified by user and name of the target.
  func put(_ registration: PushRegistration) throws
  func removePushRegistration(_ registration: PushRegistration) throws
  /// Removes the user's registrations that end with a login; with any login if it is `nil`.
  func removePushRegistrations(of user: UserID, with grant: Int64?) throws
  /// Stores a pending push; does nothing if it exists.
  func owePush(_ push: OwedPush, to user: UserID) throws
  func removePushesOwed(to user: UserID, through position: Position) throws
}
