import Addresses
public import Dialogs

extension Accounts {
  /// Disabling and deleting end all sessions and logins. A deleted user's name is
  /// never given out again; what they wrote stays in others' dialogs.
  ///
  /// Deleting takes many posts: the user is disabled by the first, and deleted, with all that is theirs, by the last
  /// (`AccountTask`). One that broke off goes on with the next start, unless the account is opened again before.
  ///
  /// - Parameter session: of who asks, which the door ends when it has told them.
  /// - Parameter onlyGuest: whoever is no guest counts as unknown.
  public func setState(
    of id: UserID, _ state: User.State, except session: SessionID? = nil, onlyGuest: Bool = false
  ) async throws(Problem) {
    if state == .deleted {
      return try await finish(
        try await beginDeletion(of: id, erasing: false, except: session, onlyGuest: onlyGuest))
    }
    try await parley.work { writer in
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
        // App passwords stay with the password: neither lets anybody in.
        try Self.removeLogins(of: id, writer)
      }
    }
    if state == .active { return }
    tokens.forget(user: id)
    parley.hub.close(id, .revoked) { $0.session.id != session }
  }
}
