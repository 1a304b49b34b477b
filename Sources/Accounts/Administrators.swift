import Addresses
import Basics
public import Dialogs

extension Accounts {
  /// Makes a user an administrator of their realm, or takes that back; either holds for the next request of both doors.
  /// An operator who makes a user an administrator confirms the account (`ReservedNames`), also if the configuration names
  /// the user.
  ///
  /// - Returns: whether anything has changed.
  /// - Throws: `.forbidden` for a guest; `.conflict` for an account that is not active, or to take back what the
  ///   configuration gives; `.tooLarge` at `AccountLimits.administratorsMax`.
  public func setAdministrator(
    _ isAdministrator: Bool, _ user: User, byOperator: Bool = false
  ) async throws(Problem) -> Bool {
    let administrators = parley.registries.administrators
    if administrators.isConfigured(user.address) {
      if isAdministrator {
        return try await parley.work(keepingCaches: true) { [self] writer in
          try Self.checkMayAdminister(user, writer)
          guard byOperator, try !Self.isConfirmed(user, writer) else { return false }
          try confirm(user, writer)
          return true
        }
      }
      throw Problem(
        .conflict, "administrator-configured",
        "\(user.address) is an administrator by the key admins of the configuration. Remove the address there.",
        field: "role")
    }
    let record = Administrator(user: user.id, since: parley.clock.now)
    let (isChanged, made, change) = try await parley.work(keepingCaches: true) { [self] writer in
      var made = Set(try writer.administrators().map(\.user))
      let isChanged = made.contains(user.id) != isAdministrator
      if isAdministrator, isChanged {
        try Self.checkMayAdminister(user, writer)
        guard made.count < AccountLimits.administratorsMax else {
          throw Problem(
            .tooLarge, "too-many-administrators", "There are at most \(AccountLimits.administratorsMax) administrators."
          )
        }
        try writer.put(record)
        if byOperator { try confirm(user, writer) }
        made.insert(user.id)
      } else if isChanged {
        try writer.remove(record)
        made.remove(user.id)
      }
      return (isChanged, made, administrators.beginChange())
    }
    administrators.set(made, change: change)
    return isChanged
  }

  private static func checkMayAdminister(_ user: User, _ reader: any StoreReader) throws {
    guard let now = try reader.user(user.id), now.state == .active else {
      throw Problem(.conflict, "user-inactive", "\(user.address) is not active.", field: "jid")
    }
    if now.isGuest { throw Problem(.forbidden, "guest-limited", "A guest cannot be an administrator.", field: "jid") }
  }

  /// Returns the administrators of a realm who have an account, by name.
  public func administrators(in realm: RealmID) async throws(Problem) -> [User] {
    let configured = parley.registries.administrators.configuredAddresses
    return try await parley.read { reader in
      var found: [UserID: User] = [:]
      for address in configured {
        if let user = try reader.user(address) { found[user.id] = user }
      }
      for administrator in try reader.administrators() {
        if let user = try reader.user(administrator.user) { found[user.id] = user }
      }
      return found.values.filter { $0.realm == realm && $0.state != .deleted }.sorted { $0.name < $1.name }
    }
  }
}
