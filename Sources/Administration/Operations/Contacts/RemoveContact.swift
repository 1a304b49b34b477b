package import Dialogs

/// Removes a contact from a user's roster and ends the subscriptions (RFC 6121 2.5); with `mutual` also the user from
/// the contact's roster.
package enum RemoveContact: AdminOperation {
  package static let name = "roster.remove"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    let jid: String
    let contact: String
    let mutual: Bool
    package init(jid: String, contact: String, mutual: Bool) {
      self.jid = jid
      self.contact = contact
      self.mutual = mutual
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let user = try await context.user(input.jid)
    let address = try context.contact(input.contact)
    let peer = input.mutual ? try await context.user(input.contact) : nil
    try await context.parley.post(.removeContact(address), by: user.party, isFromBackend: true)
    guard let peer else { return Empty() }
    do throws(Problem) {
      try await context.parley.post(.removeContact(user.address), by: peer.party, isFromBackend: true)
    } catch  where error.kind == .missing {
      // The other roster had no such item, which is the requested state.
    }
    return Empty()
  }
}
