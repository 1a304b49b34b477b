import Addresses
import Basics
package import Dialogs

/// Lists the open invitations of a domain, without their tokens, which are not stored.
package enum ListInvites: AdminOperation {
  package static let name = "invites.list"
  package static let scope: AppKey.Scope? = .usersRead
  package static let isReading = true

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package struct Row: Codable, Hashable, Sendable {
    package let id: Int64
    /// `account` or `contact`.
    package let kind: String
    package let name: String?
    /// The inviter; `nil` for an operator.
    package let inviter: String?
    package let createdAt: String
    package let expires: String
  }

  package typealias Output = [Row]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [Row] {
    let invites = try await Invites(context.parley).all(in: try context.realm(input.domain).id)
    return try await context.parley.read { reader in
      try invites.map { invite in
        Row(
          id: invite.id, kind: invite.kind == .account ? "account" : "contact", name: invite.name,
          inviter: try invite.inviter.flatMap { try reader.party($0)?.address.description },
          createdAt: invite.createdAt.description, expires: invite.expires.description)
      }
    }
  }
}
