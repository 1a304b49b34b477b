package import Dialogs

/// Revokes an invitation.
package enum RevokeInvite: AdminOperation {
  package static let name = "invites.revoke"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Input: Codable, Sendable {
    let id: Int64
    package init(id: Int64) { self.id = id }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let invites = Invites(context.parley)
    if let realm = context.realm, try await !invites.all(in: realm.id).contains(where: { $0.id == input.id }) {
      throw Problem(.missing, "invitation-unknown", "There is no invitation \(input.id).", field: "id")
    }
    try await invites.revoke(input.id)
    return Empty()
  }
}
