package import Dialogs
import HTTPPort

/// Deletes a contact group: its members keep only the contacts of their own.
package enum DeleteContactGroup: AdminOperation {
  package static let name = "contact-groups.delete"
  package static let routes = [AdminRoute(.delete, "/contact-groups/{group}", .usersWrite)]

  package struct Input: Codable, Sendable {
    let group: String
    /// nil for the first domain.
    let domain: String?
    package init(group: String, domain: String?) {
      self.group = group
      self.domain = domain
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let realm = try context.realm(input.domain)
    try await context.parley.post(.contactGroup(.delete(realm.id, name: input.group)), by: Parley.nobody)
    return Empty()
  }
}
