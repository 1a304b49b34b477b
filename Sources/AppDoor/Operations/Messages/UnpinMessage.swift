import Dialogs
import HTTPPort

/// Removes a message from the top of its dialog.
enum UnpinMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = MessageBody
  static let name = "message.unpin"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/pin"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody> {
    .ok(try await PinMessage.pin(false, input, call))
  }
}
