import Dialogs
import HTTPPort

/// Replaces all reactions of the caller to a message. Repeating it changes nothing.
enum SetReactions: ServedOperation {
  typealias Input = SetReactionsInput
  typealias Output = MessageBody
  static let name = "reactions.set"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/reactions"

  static func perform(_ input: SetReactionsInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody>
  {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    let emoji = try Checks.emoji(input.emoji)
    let before = change.state?.reactions.first { $0.user.id == change.caller.id }?.emoji ?? []
    if change.message != nil, change.state?.retraction == nil, before == emoji { return .ok(try change.shown()) }
    return .ok(try change.shown(try await change.post(.reactions(emoji))))
  }
}
