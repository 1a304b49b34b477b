import Addresses
import Basics
public import Dialogs

extension Accounts {
  /// Sends a link to set a new password. It behaves the same whether or not a user has the address: the row is written
  /// for unknown addresses too.
  public func sendPasswordReset(
    to identity: Identity, in realm: RealmID, from network: String
  ) async throws(Problem) {
    try await paceLetter(to: identity, as: .reset, in: realm, from: network)
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let token = Token.make()
    let now = parley.clock.now
    let expires = now + AccountLimits.passwordResetLifetime
    let user: User? = try await parley.work(keepingCaches: true) { writer in
      try writer.removePasswordResets(endedBy: now)
      let user = try writer.user(try writer.user(of: identity, in: realm) ?? UserID(0))
      try writer.put(PasswordReset(hash: token.hash, user: user?.id, expires: expires))
      return user
    }
    guard let user, user.state == .active else { return }
    send(
      OutgoingCode(to: identity, .passwordReset(token: token.text), domain: domain, user: user.name, expires: expires))
  }

  /// Sets a password with such a link, which is used up. All sessions and logins end, in both protocols. A second
  /// factor remains.
  ///
  /// - Throws: `.missing` `reset-unknown` for an invalid, used or expired link.
  public func resetPassword(token: String, to password: String, from network: String) async throws(Problem) {
    let hash = Token.hash(token)
    let unknown = Problem(
      .missing, "reset-unknown", "The link is not valid any more; ask for another.", field: "token")
    try Self.checkNew(password)
    let start = parley.clock.now
    guard let found = try await parley.read({ try $0.passwordReset(token: hash) }), found.expires > start else {
      throw wrongToken(unknown, from: network)
    }
    let keys = try await keys(for: password)
    let user: UserID = try await parley.work(keepingCaches: true) { writer in
      guard let reset = try writer.passwordReset(token: hash), reset.expires > start, let id = reset.user,
        try writer.user(id)?.state == .active
      else { throw unknown }
      try Self.replacePassword(by: keys, of: id, writer)
      return id
    }
    tokens.forget(user: user)
    parley.hub.close(user, .passwordChanged)
  }
}
