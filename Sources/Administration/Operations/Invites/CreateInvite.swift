import Addresses
package import Dialogs

/// Creates an invitation to register an account.
package enum CreateInvite: AdminOperation {
  package static let name = "invites.create"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    /// The account's localpart; nil if the guest chooses it.
    let name: String?
    /// The user who becomes the guest's contact.
    let contact: String?
    package init(domain: String?, name: String?, contact: String?) {
      self.domain = domain
      self.name = name
      self.contact = contact
    }
  }

  package typealias Output = InviteLinks

  package static func object(of input: Input) -> String {
    [input.name, input.contact, input.domain].compactMap { $0 }.joined(separator: " ")
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> InviteLinks {
    var contact: Party?
    if let jid = input.contact { contact = try await context.user(jid).party }
    let realm = try context.realm(input.domain ?? contact?.address.domain)
    if let contact, contact.realm != realm.id {
      throw Problem(.malformed, "domains-differ", "\(contact.address) belongs to another domain.", field: "contact")
    }
    let draft = InviteDraft(realm: realm.id, kind: .account, inviter: contact, name: input.name)
    return InviteLinks(try await Invites(context.parley).make(draft, by: nil), in: context)
  }
}
