package import Dialogs
import HTTPPort

/// Lists a domain's contact groups by name; there are at most `Limits.contactGroupsMax`.
package enum ListContactGroups: AdminOperation {
  package static let name = "contact-groups.list"
  package static let routes = [AdminRoute(.get, "/contact-groups", .usersRead)]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package typealias Output = AdminPage<ContactGroupRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    return Output(
      items: try await context.parley.read { reader in
        try reader.contactGroups(in: realm.id).map { try ContactGroupRow($0, reader) }
      })
  }
}
