import Addresses
package import Dialogs

/// Lists a user's contacts by address.
package enum ListRoster: AdminOperation {
  package static let name = "roster.list"
  package static let scope: AppKey.Scope? = .usersRead
  package static let isReading = true

  package struct Input: Codable, Sendable {
    let jid: String
    package init(jid: String) { self.jid = jid }
  }

  package struct Item: Codable, Hashable, Sendable {
    package let jid: String
    package let name: String?
    package let groups: [String]
    /// `none`, `to`, `from` or `both` (RFC 6121 2.1.2.5).
    package let subscription: String
    /// Whether the user has asked and waits for an answer.
    package let asked: Bool
    /// Whether the contact has asked and waits for an answer.
    package let asks: Bool
    /// False for a contact that is not in the roster and has only a pending request.
    package let listed: Bool
    /// Whether it is a contact by a contact group.
    package let shared: Bool
  }

  package typealias Output = [Item]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [Item] {
    let user = try await context.user(input.jid)
    let contacts = try await context.parley.read { try $0.contacts(of: user.id) }
    return contacts.filter { $0.subscription.isInRoster || $0.subscription.pendingIn }
      .map { contact in
        Item(
          jid: contact.address.description, name: contact.name, groups: contact.groups,
          subscription: contact.subscription.rosterSubscription, asked: contact.subscription.pendingOut,
          asks: contact.subscription.pendingIn, listed: contact.subscription.isInRoster,
          shared: !contact.sharedBy.isEmpty)
      }
      .sorted { $0.jid < $1.jid }
  }
}
