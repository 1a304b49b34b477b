public import Addresses
import Basics
public import Dialogs

/// Passwords for single third-party XMPP clients (docs/decisions/0010-app-passwords.md).
extension Accounts {
  /// Creates an app password, and returns its text this once.
  public func makeAppPassword(
    for user: UserID, name: String
  ) async throws(Problem) -> (password: AppPassword, text: String) {
    guard !name.isEmpty else {
      throw Problem(.malformed, "name-empty", "An app password has a name.", field: "name")
    }
    guard name.utf8.count <= Limits.displayNameBytesMax else {
      throw Problem(.tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name")
    }
    if parley.isGuest(user) { throw Problem.guestLimited }
    let text = Self.randomPassword()
    let (before, others) = try await parley.read { (try $0.credentials(of: user), try $0.appPasswords(of: user)) }
    // Three derivations follow.
    try Self.check(name, beside: others)
    try pace(.appPassword(user))
    // An account without its own password needs the salts nonetheless.
    let own = before.isEmpty ? SCRAMHash.allCases.map { SCRAMKeys.locked(hash: $0) } : before
    let keys = await derive {
      own.compactMap {
        try? SCRAMKeys.deriveKeys(password: text, salt: $0.salt, iterations: $0.iterations, hash: $0.hash)
      }
    }
    let now = parley.clock.now
    let password: AppPassword = try await parley.work(keepingCaches: true) { writer in
      // A changed password has other salts, which these keys do not fit.
      guard try writer.credentials(of: user) == before, keys.count == own.count,
        try writer.user(user)?.state == .active
      else {
        throw Problem(.conflict, "password-changed", "The account's password was changed meanwhile; try again.")
      }
      try Self.check(name, beside: writer.appPasswords(of: user))
      if before.isEmpty { try writer.setCredentials(own, for: user) }
      // Ids are public: random ones do not reveal their number.
      let id = Int64.random(in: 1 << 32..<1 << 53)
      return try writer.insertAppPassword(
        AppPassword(id: id, user: user, name: name, createdAt: now, usedAt: nil), keys: keys)
    }
    return (password, text)
  }

  private static func check(_ name: String, beside others: [AppPassword]) throws(Problem) {
    guard !others.contains(where: { $0.name == name }) else {
      throw Problem(.conflict, "name-taken", "There is an app password of this name.", field: "name")
    }
    guard others.count < AccountLimits.appPasswordsPerUserMax else {
      throw Problem(
        .tooLarge, "too-many-app-passwords",
        "A user has at most \(AccountLimits.appPasswordsPerUserMax) app passwords; revoke one first.")
    }
  }

  public func appPasswords(of user: UserID) async throws(Problem) -> [AppPassword] {
    try await parley.read { try $0.appPasswords(of: user) }
  }

  /// Revokes an app password, with the tokens derived from it, and ends the sessions of both.
  public func removeAppPassword(_ id: Int64, of user: UserID) async throws(Problem) {
    try await parley.work(keepingCaches: true) { writer in
      guard try writer.appPasswords(of: user).contains(where: { $0.id == id }) else {
        throw Problem(.missing, "app-password-unknown", "There is no such app password.", field: "appPasswordId")
      }
      try Self.remove(appPassword: id, of: user, writer)
    }
    parley.hub.close(user, .revoked) { $0.access?.source == .appPassword(id) }
  }

  static func remove(appPassword id: Int64, of user: UserID, _ writer: any StoreWriter) throws {
    try writer.removeAppPassword(id, of: user)
    try writer.removeClients(of: user, from: .appPassword(id))
  }

  /// Returns the keys that open the account with a password alone: its own and those of all app passwords; for an
  /// unknown user none and no user. With a second factor its own keys are locked: they answer, but nothing fits.
  public static func allCredentials(
    of address: BareJID, _ reader: any StoreReader
  ) throws -> (user: User?, keys: [SCRAMKeys], others: [(password: Int64, keys: SCRAMKeys)]) {
    let (user, keys) = try credentials(of: address, reader)
    guard let user else { return (nil, keys, []) }
    let isAlone = try reader.secondFactor(of: user.id)?.isOn != true
    return (user, isAlone ? keys : keys.map(\.locked), try reader.appPasswordKeys(of: user.id))
  }

  /// Stores the time of use for the list; no one waits for it.
  public func noteUse(ofAppPassword id: Int64, of address: BareJID) {
    let now = parley.clock.now
    let work = WriteTransaction(keepsCaches: true) { writer in
      if let user = try writer.user(address) { try writer.setUsed(now, appPassword: id, of: user.id) }
      return true
    }
    _ = parley.submit(Post(author: Parley.nobody, intent: .work(work), completion: .none))
  }

  /// Returns a password of 24 letters and digits of 5 bits each, in groups for typing, without similar characters.
  private static func randomPassword() -> String {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
    let characters = (0..<24).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
    return stride(from: 0, to: 24, by: 4).map { String(characters[$0..<$0 + 4]) }.joined(separator: "-")
  }
}
