import Addresses
package import Dialogs
import HTTPPort

/// Puts users into a contact group and takes others out of it, and lets its members and those of other groups see each
/// other, or no longer: all of that or none. What is so already changes nothing.
package enum ChangeContactGroup: AdminOperation {
  package static let name = "contact-groups.change"
  package static let routes = [AdminRoute(.patch, "/contact-groups/{group}/members", .usersWrite)]

  package struct Input: Codable, Sendable {
    let group: String
    /// nil for the first domain.
    let domain: String?
    let add: [String]?
    let remove: [String]?
    /// The names of groups.
    let see: [String]?
    let unsee: [String]?
    package init(
      group: String, domain: String?, add: [String] = [], remove: [String] = [], see: [String] = [],
      unsee: [String] = []
    ) {
      self.group = group
      self.domain = domain
      self.add = add
      self.remove = remove
      self.see = see
      self.unsee = unsee
    }
  }

  package typealias Output = ContactGroupRow

  /// Returns the group, and whom and what it gains (+) and loses (-).
  package static func object(of input: Input) -> String {
    let users = (input.add ?? []).map { "+" + $0 } + (input.remove ?? []).map { "-" + $0 }
    let groups = (input.see ?? []).map { "+group " + $0 } + (input.unsee ?? []).map { "-group " + $0 }
    return ([input.group] + users + groups).joined(separator: " ")
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> ContactGroupRow {
    let realm = try context.realm(input.domain)
    let (seeing, unseeing) = (input.see ?? [], input.unsee ?? [])
    if seeing.count + unseeing.count > Limits.contactGroupsMax {
      throw Problem(
        .tooLarge, "too-many-contact-groups", "One call names at most \(Limits.contactGroupsMax) groups.", field: "see")
    }
    let intent = ContactGroupIntent.change(
      realm.id, name: input.group, adding: try addresses(input.add, "add", in: context),
      removing: try addresses(input.remove, "remove", in: context), seeing: seeing, unseeing: unseeing)
    try await context.parley.post(.contactGroup(intent), by: Parley.nobody)
    return try await context.contactGroup(input.group, in: input.domain) { try ContactGroupRow($0, $1) }
  }

  private static func addresses(
    _ jids: [String]?, _ field: String, in context: AdminContext
  ) throws(Problem) -> [BareJID] {
    let jids = jids ?? []
    if jids.count > Limits.contactGroupMembersMax {
      throw Problem(
        .tooLarge, "too-many-members", "One call names at most \(Limits.contactGroupMembersMax) users.", field: field)
    }
    var addresses: [BareJID] = []
    for jid in jids {
      do throws(Problem) { addresses.append(try context.account(jid)) } catch {
        throw Problem(error.kind, error.code, error.text, field: field)
      }
    }
    return addresses
  }
}
