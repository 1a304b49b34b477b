import Dialogs
import HTTPPort

/// Lists the versions of a message, the first first, and the current one last: for its author, and for the dialog's
/// admins. A deleted message has none.
enum ListEdits: ServedOperation {
  typealias Input = MessagePartsInput
  typealias Output = PageBody<EditBody>
  static let name = "edit.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/edits"

  static func perform(_ input: MessagePartsInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    let limit = try Checks.limit(input.limit)
    let after = try call.position(ofCursor: input.cursor) ?? .zero
    let caller = change.caller
    let (place, target, rendering, parley) = (change.place, change.target, call.rendering, call.parley)
    return .ok(
      try await call.readMessages { reader in
        // Read again: it may have been deleted meanwhile.
        let (messages, room, _) = try place.reading(for: caller, parley, reader)
        guard let message = try reader.message(target.position, in: messages, of: room),
          case .message(let first) = message.entry.fact
        else { throw MessageChange.unknown }
        guard let edits = message.edits else { throw notYours }
        let entry = message.entry
        if entry.state?.retraction != nil {
          throw Problem(.missing, "message-deleted", "This message was deleted.", field: "messageId")
        }
        let (page, last) = try reader.edits(
          of: edits, after: after, limit: limit + 1, bytesMax: Limits.pageBytesMax
        ).page(limit)
        var items = page.compactMap { edit -> EditBody? in
          guard case .message(let message) = edit.fact else { return nil }
          return EditBody(text: message.content.text, at: edit.time)
        }
        if after == .zero { items.insert(EditBody(text: first.content.text, at: entry.time), at: 0) }
        return PageBody(items: items, nextCursor: last.map { rendering.cursor($0.position) })
      })
  }

  private static let notYours = Problem(
    .forbidden, "message-foreign", "Only its author and admins may see what a message said before.", field: "messageId")
}
