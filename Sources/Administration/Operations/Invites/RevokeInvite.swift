package import Dialogs

/// Revokes an invitation.
package enum RevokeInvite: AdminOperation {
  package static let name = "invites.revoke"

  package struct Input: Codable, Sendable {
    let id: Int64
    package init(id: Int64) { self.id = id }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    try await Invites(context.parley).revoke(input.id)
    return Empty()
  }
}
