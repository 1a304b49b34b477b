import Dialogs
import HTTPPort

/// Returns one message of a dialog as it is now, for those who may read it: the message of a push, the one that another
/// answers, a link's.
enum GetMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = MessageBody
  static let name = "message.get"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody> {
    await call.readPlace?.take()
    return .ok(try await MessageChange(input.messageId, in: input.dialogId, call).shown())
  }
}
