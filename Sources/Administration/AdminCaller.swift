import Accounts
import Addresses
import Dialogs

/// The caller of an operation over HTTP: who they are in the audit, and what they may reach.
struct AdminCaller: Sendable {
  /// The one to whose rate a call counts.
  enum Counted: Hashable, Sendable {
    case key(Int64)
    case administrator(UserID)
  }

  let counted: Counted
  let actor: AuditActor
  let realm: Realm
  let scopes: Set<AppKey.Scope>
  /// The caller as a refusal names it, at the beginning of a sentence.
  let name: String
}

extension AdminCaller.Counted {
  var isAdministrator: Bool { if case .administrator = self { true } else { false } }
}

extension AdminContext {
  /// Returns the same context for a caller over HTTP.
  func within(_ caller: AdminCaller) -> AdminContext { within(caller.realm, scopes: caller.scopes, of: caller.name) }

  /// Whether the caller is an operator: a command on the server's own machine.
  var isOperator: Bool { scopes == nil }

  /// Returns the reason of a failure as the caller may read it. It may name paths, buckets and other servers, which do not
  /// leave the machine: a caller over HTTP reads where the log has it.
  ///
  /// - Parameter line: The message that the failure was logged with.
  func reason(_ reason: String, logged line: String) -> String {
    isOperator ? reason : "The reason is in the server's log, in the line \"\(line)\"."
  }

  /// Refuses an operation whose scope the caller lacks, or that is available only on the server's own machine.
  func require(_ scope: AppKey.Scope?, for operation: String) throws(Problem) {
    guard let scopes, let realm else { return }
    guard let scope else {
      throw Problem(
        .forbidden, "operation-local", "\(operation) is available only on the server's own machine, without a key.")
    }
    guard scopes.contains(scope) else {
      throw Problem(.forbidden, "scope-missing", "\(callerName) lacks the scope \(scope.rawValue).", field: "scope")
    }
    if scope.isOfServer, let first = parley.realms.first, realm.id != first.id {
      throw Problem(
        .forbidden, "key-of-another-domain",
        "The scope \(scope.rawValue) covers the whole server: use a key of \(first.domain).", field: "scope")
    }
  }

  /// Returns the caller whom an app key or an access token stands for.
  ///
  /// - Throws: `.unauthenticated` for an unknown or revoked secret; `.forbidden` for a user who is not an administrator.
  func caller(_ secret: String, from address: String) async throws(Problem) -> AdminCaller {
    if secret.hasPrefix(Accounts.appKeyPrefix) {
      let key = try await accounts.appKey(secret: secret)
      guard let realm = parley.realms.first(where: { $0.id == key.realm }) else {
        throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
      }
      return AdminCaller(
        counted: .key(key.id), actor: AuditActor(key, from: address), realm: realm, scopes: key.scopes,
        name: "The key \(key.name)")
    }
    let user = try await accounts.caller(accessToken: secret).user
    guard parley.registries.administrators.contains(user), !parley.isGuest(user.id),
      let realm = parley.realms.first(where: { $0.id == user.realm })
    else {
      throw Problem(
        .forbidden, "administrator-required",
        "\(user.address) is not an administrator. An operator can change that: parley user role \(user.address) admin")
    }
    return AdminCaller(
      counted: .administrator(user.id), actor: AuditActor(administrator: user, from: address), realm: realm,
      scopes: administratorScopes(in: realm), name: "\(user.address)")
  }

  /// Returns what administrators of a realm may do.
  func administratorScopes(in realm: Realm) -> Set<AppKey.Scope> {
    AppKey.Scope.ofAdministrators(isFirst: realm.id == parley.realms.first?.id)
  }

  /// Refuses a caller who would gain scopes by signing in as an administrator or by creating one.
  ///
  /// - Parameter party: the user to be changed or created; nothing is checked if they are not an administrator.
  func requireReach(over party: Party) throws(Problem) {
    guard let scopes, let realm, parley.registries.administrators.contains(party) else { return }
    try requireReach(in: realm, scopes)
  }

  func requireReachOfAdministrators() throws(Problem) {
    guard let scopes, let realm else { return }
    try requireReach(in: realm, scopes)
  }

  private func requireReach(in realm: Realm, _ scopes: Set<AppKey.Scope>) throws(Problem) {
    guard let lacking = administratorScopes(in: realm).subtracting(scopes).map(\.rawValue).min() else { return }
    throw Problem(
      .forbidden, "administrator-protected",
      "Administrators have the scope \(lacking), which this key lacks: it cannot change their logins or their role.",
      field: "scope")
  }
}
