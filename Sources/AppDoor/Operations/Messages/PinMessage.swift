import Dialogs
import HTTPPort

/// Puts a message at the top of its dialog: in a private dialog either may, in a group its admins and whoever moderates it, or all its
/// members, as the dialog has it (`whoPins`).
enum PinMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = MessageBody
  static let name = "message.pin"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/pin"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody> {
    .ok(try await pin(true, input, call))
  }

  /// What is so already is answered with how it stands, and nobody is told.
  static func pin(_ isPinned: Bool, _ input: MessageInput, _ call: RequestContext) async throws(Problem) -> MessageBody
  {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    if change.message != nil, change.state?.retraction == nil, isPinned == (change.state?.pin != nil) {
      return try change.shown()
    }
    return try change.shown(try await change.post(.pin(isPinned)))
  }
}
