import Dialogs
import HTTPPort

/// Pins a message to the top of its dialog: in a private dialog by either user, in a group by its admins and
/// moderators, or by all its members, depending on its setting `whoPins`.
enum PinMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = MessageBody
  static let name = "message.pin"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/pin"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody> {
    .ok(try await pin(true, input, call))
  }

  /// Pins or unpins. If this changes nothing, the answer is the current state, and no one is told.
  static func pin(_ isPinned: Bool, _ input: MessageInput, _ call: RequestContext) async throws(Problem) -> MessageBody
  {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    if change.message != nil, change.state?.retraction == nil, isPinned == (change.state?.pin != nil) {
      return try change.shown()
    }
    return try change.shown(try await change.post(.pin(isPinned)))
  }
}
