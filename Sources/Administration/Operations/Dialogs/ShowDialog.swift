import Addresses
package import Dialogs
import HTTPPort

/// Shows all that an operator may know about a dialog: no message and no secret.
package enum ShowDialog: AdminOperation {
  package static let name = "dialogs.show"
  package static let routes = [
    AdminRoute(.get, "/dialogs/{dialog}", .dialogsRead)
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    package init(dialog: String) { self.dialog = dialog }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let dialog: DialogRow
    package let about: String?
    package let topic: String?
    /// The id that a backend or an operator has given.
    package let externalId: String?
    /// The id that the user `creator` has given, for whom alone it names this dialog.
    package let userExternalId: String?
    package let creator: String?
    /// `all` or `sinceJoin`.
    package let history: String
    package let slowModeSeconds: Int
    /// The number of messages and notices so far.
    package let messages: Int64
    /// The first owners and admins, at most `Limits.pageMax` of each.
    package let owners: [String]
    package let admins: [String]
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let room = try await context.dialog(input.dialog)
    let (owners, admins, creator) = try await context.parley.read { reader in
      func people(_ affiliation: Affiliation) throws -> [String] {
        try reader.members(of: .server(room.id, .administration).only([affiliation]), after: nil, limit: Limits.pageMax)
          .map {
            $0.party.address.description
          }
      }
      let creator = try room.creator.flatMap { try reader.party($0) }
      return (try people(.owner), try people(.admin), creator?.address.description)
    }
    return Output(
      dialog: DialogRow(room, in: context), about: room.settings.about,
      topic: room.topic.flatMap { $0.text.isEmpty ? nil : $0.text }, externalId: room.externalID,
      userExternalId: room.userExternalID, creator: creator,
      history: room.settings.history == .all ? "all" : "sinceJoin", slowModeSeconds: room.settings.slowModeSeconds,
      messages: room.sequence, owners: owners, admins: admins)
  }
}
