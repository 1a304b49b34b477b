import Addresses
public import Dialogs

extension Accounts {
  /// Changes the state of an account. Disabling and deleting end all sessions and logins. A deleted user's name is
  /// never reused; their messages remain in others' dialogs.
  ///
  /// Deleting takes many posts: the first disables the user, a later one deletes them, and the last ones erase their data
  /// (`AccountTask`). An interrupted deletion continues with the next start, unless the account is enabled again before the user is
  /// deleted.
  ///
  /// - Parameters:
  ///   - session: the requesting session, which the door ends after answering.
  ///   - onlyGuest: whether users who are no guests count as unknown.
  public func setState(
    of id: UserID, _ state: User.State, except session: SessionID? = nil, onlyGuest: Bool = false
  ) async throws(Problem) {
    if state == .deleted {
      return try await finish(
        try await beginDeletion(of: id, erasing: false, except: session, onlyGuest: onlyGuest))
    }
    try await parley.work(behind: id) { writer in
      guard var user = try writer.user(id), user.state != .deleted else {
        throw Problem(.missing, "user-unknown", "There is no such user.", field: "jid")
      }
      user.state = state
      try writer.update(user)
      if state == .active {
        for task in try writer.accountTasks(of: id) where task.kind != .export {
          try writer.removeAccountTask(task.id)
        }
      } else {
        // App passwords remain with the password: neither can be used.
        try Self.removeLogins(of: id, writer)
      }
    }
    if state == .active { return }
    tokens.forget(user: id)
    parley.hub.close(id, .revoked) { $0.session.id != session }
  }
}
