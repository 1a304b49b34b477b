package import Dialogs
import HTTPPort

/// Creates a contact group, or gives it another display name; does nothing if it is there already.
package enum PutContactGroup: AdminOperation {
  package static let name = "contact-groups.put"
  package static let routes = [AdminRoute(.put, "/contact-groups/{group}", .usersWrite)]

  package struct Input: Codable, Sendable {
    let group: String
    /// nil for the first domain.
    let domain: String?
    /// nil for the name, or the one that the group has.
    let displayName: String?
    /// nil for a group of some users, or as the group is.
    let everyone: Bool?
    package init(group: String, domain: String?, displayName: String?, everyone: Bool?) {
      self.group = group
      self.domain = domain
      self.displayName = displayName
      self.everyone = everyone
    }
  }

  package typealias Output = ContactGroupRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> ContactGroupRow {
    let realm = try context.realm(input.domain)
    try await context.parley.post(
      .contactGroup(
        .put(realm.id, name: input.group, displayName: input.displayName, hasEveryone: input.everyone)),
      by: Parley.nobody)
    return try await context.contactGroup(input.group, in: input.domain) { try ContactGroupRow($0, $1) }
  }
}
