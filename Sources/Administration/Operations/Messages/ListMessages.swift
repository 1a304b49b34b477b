import AppDoor
package import Dialogs
import HTTPPort
package import JSON

/// Lists a group or public dialog's messages, newest first, as seen by a member who has always been in it.
package enum ListMessages: AdminOperation {
  package static let name = "messages.list"
  package static let routes = [
    AdminRoute(.get, "/dialogs/{dialog}/messages", .messagesRead, defaults: ["limit": "50"])
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    /// The previous page's `nextCursor`, or a message's id; the page has older messages.
    let cursor: String?
    let limit: Int
  }

  package typealias Output = AdminPage<RawObject, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let room = try await context.dialog(input.dialog)
    let (parley, realm) = (context.parley, room.name.realm)
    var before = Position.end
    if let cursor = input.cursor {
      guard let position = PublicID(cursor).flatMap({ parley.position(of: $0, in: realm) }) else {
        throw Problem(.malformed, "cursor-unknown", "cursor must be the id of a message.", field: "cursor")
      }
      before = position
    }
    let limit = Output.limit(input.limit, max: Limits.pageMax)
    let page = try await parley.read { [before] reader in
      var query = ArchiveQuery(limit: limit)
      query.before = min(before, try reader.shown(in: room.id).next)
      query.bytesMax = Limits.pageBytesMax
      query.backwards = true
      return try reader.history(of: .server(room.id, .administration), query)
    }
    let events = context.hookEvents
    let end = page.complete ? nil : page.next ?? page.entries.first?.position
    return Output(
      items: page.entries.reversed().compactMap { events.message($0, in: realm) },
      nextCursor: end.map { parley.entryID($0, in: realm).description })
  }
}
