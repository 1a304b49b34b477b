import Dialogs
import HTTPPort

/// Adds a message to the caller's starred ones, which are private.
enum StarMessage: ServedOperation {
  typealias Input = MessageInput
  typealias Output = EmptyBody
  static let name = "message.star"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/star"

  static func perform(_ input: MessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await PerUserMessageRequest(input.dialogId, call).post(
      .star(try Checks.message(input.messageId, field: "messageId"), true))
    return .done
  }
}
