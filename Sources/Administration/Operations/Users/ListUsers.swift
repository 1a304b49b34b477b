import Accounts
package import Dialogs
import HTTPPort

/// Lists a page of a domain's users by name.
package enum ListUsers: AdminOperation {
  package static let name = "users.list"
  package static let routes = [AdminRoute(.get, "/users", .usersRead, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    /// A prefix of the name or a part of the display name.
    let matching: String?
    /// The name of the previous page's last user.
    let cursor: String?
    let limit: Int
    /// Restricts the list to the user with this id of the backend; `email` likewise with this address.
    let externalId: String?
    let email: String?
    /// Restricts the list to those with this role: `admin`, of whom there is one page.
    let role: SetRole.Role?
    package init(domain: String?, matching: String?, after: String?, limit: Int, role: SetRole.Role? = nil) {
      self.role = role
      externalId = nil
      email = nil
      self.domain = domain
      self.matching = matching
      self.cursor = after
      self.limit = limit
    }
  }

  package typealias Output = AdminPage<UserRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    let identities = [input.externalId.map { Identity(.external, $0) }, input.email.map { Identity(.email, $0) }]
      .compactMap { $0 }
    if !identities.isEmpty {
      let users = try await context.parley.read { reader in
        let ids = try identities.map { try reader.user(of: $0, in: realm.id) }
        // If both are given, both must match.
        guard let id = ids[0], ids.allSatisfy({ $0 == id }) else { return [User]() }
        return try reader.user(id).map { $0.state == .deleted ? [] : [$0] } ?? []
      }
      return Output(items: users.map { UserRow($0, in: context) })
    }
    if input.role == .admin {
      return Output(items: try await context.accounts.administrators(in: realm.id).map { UserRow($0, in: context) })
    }
    let limit = Output.limit(input.limit)
    let users = try await context.parley.read {
      try $0.users(in: realm.id, matching: input.matching, after: input.cursor, limit: limit)
    }
    return Output(users, limit: limit, cursor: \.localpart) { UserRow($0, in: context) }
  }
}
