import Addresses
package import Dialogs
import HTTPPort

/// Adds a contact to a user's roster, or changes its name and groups. With `mutual` both users get each other as
/// contacts with mutual subscriptions and without a request. Connected clients are informed at once.
package enum AddContact: AdminOperation {
  package static let name = "roster.add"
  package static let routes = [
    AdminRoute(.put, "/users/{jid}/contacts/{contact}", .usersWrite, fixed: ["mutual": "true"])
  ]

  package struct Input: Codable, Sendable {
    let jid: String
    let contact: String
    let name: String?
    /// Nil for those that there are.
    let groups: [String]?
    let mutual: Bool
    package init(jid: String, contact: String, name: String?, groups: [String]?, mutual: Bool) {
      self.jid = jid
      self.contact = contact
      self.name = name
      self.groups = groups
      self.mutual = mutual
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let user = try await context.user(input.jid)
    let address = try context.contact(input.contact)
    if input.mutual || context.parley.realm(domain: address.domain) != nil {
      _ = try await context.user(input.contact)
    }
    try await context.parley.post(
      .link(address, name: input.name, groups: input.groups, mutual: input.mutual), by: user.party)
    return Empty()
  }
}
