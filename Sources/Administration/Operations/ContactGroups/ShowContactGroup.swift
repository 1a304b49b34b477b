import Addresses
package import Dialogs
import HTTPPort

/// Shows a contact group and all its members.
package enum ShowContactGroup: AdminOperation {
  package static let name = "contact-groups.show"
  package static let routes = [AdminRoute(.get, "/contact-groups/{group}", .usersRead)]

  package struct Input: Codable, Sendable {
    let group: String
    /// nil for the first domain.
    let domain: String?
    package init(group: String, domain: String?) {
      self.group = group
      self.domain = domain
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let group: ContactGroupRow
    /// The addresses of the members, at most `Limits.contactGroupMembersMax`.
    package let members: [String]
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    try await context.contactGroup(input.group, in: input.domain) { group, reader in
      let members = try reader.members(ofContactGroup: group.id).compactMap { try reader.party($0) }
      return Output(
        group: try ContactGroupRow(group, reader), members: members.map(\.address.description).sorted())
    }
  }
}
