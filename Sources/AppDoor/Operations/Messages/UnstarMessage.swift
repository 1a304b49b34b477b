import Dialogs
import HTTPPort

/// Removes a message from the caller's starred ones.
enum UnstarMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = EmptyBody
  static let name = "message.unstar"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/star"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await PerUserMessageRequest(input.dialogId, call).post(
      .star(try Checks.message(input.messageId, field: "messageId"), false))
    return .done
  }
}
