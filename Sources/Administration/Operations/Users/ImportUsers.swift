import Accounts
import Addresses
package import Dialogs
import ImportSources

/// Creates many accounts in one transaction; a row that fails does not affect the others.
package enum ImportUsers: AdminOperation {
  package static let name = "users.import"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Row: Codable, Sendable {
    let jid: String
    /// nil and an empty text are the same: a user with an externalId or an email needs none.
    let password: String?
    let name: String?
    /// The backend's id for the user.
    let externalId: String?
    let email: String?
    package init(jid: String, password: String?, name: String?, externalId: String? = nil, email: String? = nil) {
      self.jid = jid
      self.password = password
      self.name = name
      self.externalId = externalId
      self.email = email
    }
  }

  package struct Input: Codable, Sendable {
    /// At most `AdminLimits.importBatchRows` rows.
    let rows: [Row]
    package init(rows: [Row]) { self.rows = rows }
  }

  /// The outcomes in the order of the rows.
  package typealias Output = [RowOutcome]

  package static func object(of input: Input) -> String { "\(input.rows.count) users" }
  package static func object(of input: Input, after output: [RowOutcome]) -> String { output.counted("users") }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [RowOutcome] {
    guard input.rows.count <= AdminLimits.importBatchRows else {
      throw Problem(.tooLarge, "batch-too-large", "One batch has at most \(AdminLimits.importBatchRows) rows.")
    }
    var outcomes = [RowOutcome](repeating: RowOutcome(.failed), count: input.rows.count)
    var addresses: [BareJID] = []
    var places: [Int] = []
    for (place, row) in input.rows.enumerated() {
      do throws(Problem) {
        addresses.append(try context.account(row.jid))
        places.append(place)
      } catch {
        outcomes[place] = RowOutcome(.failed, error.text)
      }
    }
    // Existing users are found before anything else of their rows is judged, and before any key derivation, so that
    // repeating an import is quick.
    let known = try await context.parley.read { [addresses] reader in
      try addresses.map { try reader.user($0).map { $0.state != .deleted } ?? false }
    }
    var fresh: [(user: Accounts.NewUser, place: Int)] = []
    for (index, place) in places.enumerated() {
      if known[index] {
        outcomes[place] = RowOutcome(.exists, "\(input.rows[place].jid) exists already")
        continue
      }
      do throws(Problem) {
        fresh.append((user: try newUser(input.rows[place], at: addresses[index]), place: place))
      } catch {
        outcomes[place] = RowOutcome(.failed, error.text)
      }
    }
    let results = await context.accounts.importUsers(fresh.map(\.user), byOperator: context.isOperator)
    for ((_, place), result) in zip(fresh, results) {
      switch result {
      case .success: outcomes[place] = RowOutcome(.done)
      case .failure(let problem):
        // A failure to write the batch is not an error of its rows.
        if problem.kind == .overloaded { throw problem }
        outcomes[place] = RowOutcome(
          .failed,
          problem.code == "password-empty"
            ? "A user must have a password, or an externalId or email to sign in by." : problem.text)
      }
    }
    return outcomes
  }

  private static func newUser(_ row: Row, at address: BareJID) throws(Problem) -> Accounts.NewUser {
    let password = row.password ?? ""
    try checkPlain(password)
    var identities: [Identity] = []
    if let id = try AdminContext.externalID(row.externalId) { identities.append(Identity(.external, id)) }
    if let email = try AdminContext.email(row.email) { identities.append(Identity(.email, email)) }
    // Without any identity an empty password is refused.
    return Accounts.NewUser(
      address: address, password: password.isEmpty && !identities.isEmpty ? nil : password, displayName: row.name,
      identities: identities)
  }

  /// Refuses what another server keeps in place of a password: its text must not become one.
  private static func checkPlain(_ password: String) throws(Problem) {
    switch StoredPassword(password) {
    case .none, .plain: return
    case .keys, .banned, .unknown:
      throw Problem(
        .malformed, "password-not-plain",
        "The password is a hash, keys or a mark of another server, not a password.",
        field: "password")
    }
  }
}
