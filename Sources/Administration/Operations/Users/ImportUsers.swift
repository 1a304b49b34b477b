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
    let password: String
    let name: String?
    /// The backend's id for the user. A user with one, or with an email, needs no password.
    let externalId: String?
    let email: String?
    package init(jid: String, password: String, name: String?, externalId: String? = nil, email: String? = nil) {
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
    var users: [Accounts.NewUser] = []
    var places: [Int] = []
    for (index, row) in input.rows.enumerated() {
      do throws(Problem) {
        let address = try context.account(row.jid)
        try checkPlain(row.password)
        var identities: [Identity] = []
        if let id = try AdminContext.externalID(row.externalId) { identities.append(Identity(.external, id)) }
        if let email = try AdminContext.email(row.email) { identities.append(Identity(.email, email)) }
        // Without any identity an empty password is refused, but not that of a user who exists.
        let password = row.password.isEmpty && !identities.isEmpty ? nil : row.password
        users.append(
          Accounts.NewUser(address: address, password: password, displayName: row.name, identities: identities))
        places.append(index)
      } catch {
        outcomes[index] = RowOutcome(.failed, error.text)
      }
    }
    // Existing users are found before any key derivation, so that repeating an import is quick.
    let addresses = users.map(\.address)
    let known = try await context.parley.read { reader in
      try addresses.map { try reader.user($0).map { $0.state != .deleted } ?? false }
    }
    for (place, exists) in zip(places, known) where exists {
      outcomes[place] = RowOutcome(.exists, "\(input.rows[place].jid) exists already")
    }
    let fresh = zip(zip(users, places), known).filter { !$0.1 }.map(\.0)
    let results = await context.accounts.importUsers(fresh.map(\.0), byOperator: context.isOperator)
    for ((_, place), result) in zip(fresh, results) {
      switch result {
      case .success: outcomes[place] = RowOutcome(.done)
      case .failure(let problem):
        // A failure to write the batch is not an error of its rows.
        if problem.kind == .overloaded { throw problem }
        outcomes[place] = RowOutcome(
          .failed,
          problem.code == "password-empty"
            ? "A user has a password, or an externalId or email to sign in by." : problem.text)
      }
    }
    return outcomes
  }

  /// Refuses what another server keeps in place of a password: its text must not become one.
  private static func checkPlain(_ password: String) throws(Problem) {
    switch StoredPassword(password) {
    case .none, .plain: return
    case .keys, .banned, .unknown:
      throw Problem(
        .malformed, "password-not-plain",
        "The password is what another server keeps in place of one (keys, a hash or a mark), and no password.",
        field: "password")
    }
  }
}
