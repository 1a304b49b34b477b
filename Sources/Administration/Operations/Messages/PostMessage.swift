import Addresses
import AppDoor
package import Dialogs
import HTTPPort
package import JSON

/// Sends a message in a user's name, to a dialog that they are in or to another user.
package enum PostMessage: AdminOperation {
  package static let name = "messages.post"
  package static let routes = [AdminRoute(.post, "/messages", .messagesWrite, status: 201)]

  package struct Input: Codable, Sendable {
    /// The sender.
    let sender: String
    /// Exactly one of `dialog` and `recipient` is set.
    let dialog: String?
    let recipient: String?
    /// The message's id for its sender; a repeat is answered with the first message.
    let clientId: String
    let text: String
  }

  /// The message in the form of the app's API.
  package typealias Output = RawObject

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> RawObject {
    let sender = try await context.user(input.sender).party
    guard (1...Limits.clientIDBytesMax).contains(input.clientId.utf8.count), Content.isText(input.clientId) else {
      throw Problem(
        .malformed, "client-id-malformed", "clientId must have 1 to \(Limits.clientIDBytesMax) bytes.",
        field: "clientId")
    }
    guard !input.text.showsNothing, Content.isText(input.text) else {
      throw Problem(
        .malformed, "text-malformed", "text must have visible characters, and no control characters.", field: "text")
    }
    guard input.text.unicodeScalars.count <= Limits.textCharactersMax else {
      throw Problem(
        .tooLarge, "text-too-long", "text must have at most \(Limits.textCharactersMax) characters.", field: "text")
    }
    let content = Content(kind: .text, text: input.text)
    var digest = Digest64()
    digest.combine("backend")
    digest.combine(input.text)
    let key = RepeatKey(rule: .app, id: input.clientId, bodyHash: digest.finish())
    let intent: Intent
    switch (input.dialog, input.recipient) {
    case (let dialog?, nil):
      let room = try await context.dialog(dialog)
      intent = .room(
        .say(
          .dialog(room.id),
          RoomMessageDraft(
            content: content, envelope: Envelope(type: .groupchat, id: input.clientId),
            traits: [.counts, .archived, .markable, .fromApp], key: key)))
    case (nil, let recipient?):
      intent = .message(
        MessageDraft(
          to: try await context.user(recipient).address, content: content,
          envelope: Envelope(type: .chat, id: input.clientId),
          traits: [.counts, .archived, .replayed, .markable, .receipted, .fromApp], key: key))
    case (nil, nil), (.some, .some):
      throw Problem(.malformed, "input-malformed", "Give either dialog or recipient.", field: "dialog")
    }
    let receipt = try await context.parley.post(intent, by: sender, isFromBackend: true)
    guard let message = receipt.entry.flatMap({ context.hookEvents.message($0, in: sender.realm) }) else {
      throw Problem(.internal, "outcome-missing", "The message was stored, but cannot be shown.")
    }
    return message
  }
}
