package import Dialogs
import HTTPPort

/// Lists a page of a dialog's members, or of those with one role.
package enum ListDialogMembers: AdminOperation {
  package static let name = "dialogs.members"
  package static let routes = [
    AdminRoute(.get, "/dialogs/{dialog}/members", .dialogsRead, defaults: ["limit": "50"])
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    /// nil for all except banned users.
    let role: DialogRole?
    /// The `nextCursor` of the previous page.
    let cursor: Int64?
    let limit: Int
    package init(dialog: String, role: DialogRole?, after: Int64?, limit: Int) {
      self.dialog = dialog
      self.role = role
      self.cursor = after
      self.limit = limit
    }
  }

  package typealias Output = AdminPage<DialogMemberRow, Int64>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let room = try await context.dialog(input.dialog)
    let among: Set<Affiliation> =
      input.role.map { [$0.affiliation] } ?? Set(Affiliation.allCases.filter(\.isMember))
    let limit = Output.limit(input.limit)
    let members = try await context.parley.read {
      try $0.members(
        of: .server(room.id, .administration).only(among), after: input.cursor.map { UserID($0) }, limit: limit)
    }
    return Output(members, limit: limit, cursor: \.party.id.number, item: DialogMemberRow.init)
  }
}
