package import Dialogs
import HTTPPort

/// Deletes a message of a group or public dialog for all members, in the owner's name (XEP-0425). Deleting it again
/// succeeds.
package enum DeleteMessage: AdminOperation {
  package static let name = "messages.delete"
  package static let routes = [AdminRoute(.delete, "/dialogs/{dialog}/messages/{message}", .messagesModerate)]

  package struct Input: Codable, Sendable {
    let dialog: String
    let message: String
    /// A reason that the members see.
    let reason: String?
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let room = try await context.dialog(input.dialog)
    let parley = context.parley
    let unknown = Problem(.missing, "message-unknown", "There is no such message in this dialog.", field: "message")
    guard let id = PublicID(input.message), let position = parley.position(of: id, in: room.name.realm) else {
      throw unknown
    }
    guard let entry = try await parley.read({ try $0.entry(position, in: .server(room.id, .administration)) }),
      case .message(let message) = entry.fact, message.sequence > 0
    else { throw unknown }
    if entry.state?.retraction != nil { return Empty() }
    guard Content.isText(input.reason ?? "") else {
      throw Problem(.malformed, "reason-malformed", "reason has no control characters.", field: "reason")
    }
    let owner = try await context.owner(of: room)
    let kind: Reference.Kind =
      entry.author.id == owner.id ? .retraction(reason: input.reason) : .moderation(reason: input.reason)
    let draft = RoomMessageDraft(
      content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
      reference: ReferenceDraft(kind: kind, target: .entry(id)))
    do throws(Problem) {
      try await parley.post(.room(.say(.dialog(room.id), draft)), by: owner)
    } catch  where error.code == "message-deleted" {
      // Another deletion came first.
    }
    return Empty()
  }
}
