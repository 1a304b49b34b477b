import Dialogs
import HTTPPort

/// Deletes a message for everyone: the caller's own, or any message as an admin of a group; nothing of it remains. Or
/// deletes it for the caller alone, also from their XMPP archive. Repeating it changes nothing.
enum DeleteMessage: ServedOperation {
  typealias Input = DeleteMessageInput
  typealias Output = EmptyBody
  static let name = "message.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}"

  static func perform(_ input: DeleteMessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    if input.whom == Audience.me.rawValue {
      try await PerUserMessageRequest(input.dialogId, call).post(
        .hide(try Checks.message(input.messageId, field: "messageId")))
      return .done
    }
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    guard input.whom == Audience.everyone.rawValue else {
      throw Problem(.malformed, "for-unknown", "for must be \"everyone\" or \"me\".", field: "for")
    }
    let reason = try Checks.line(input.reason, field: "reason")
    if change.state?.retraction != nil { return .done }
    // In a private dialog the core refuses messages of the other user as for all that are not the caller's own.
    var kind = Reference.Kind.retraction(reason: reason)
    if case .room = change.place, change.target.author.id != change.caller.id { kind = .moderation(reason: reason) }
    do throws(Problem) { _ = try await change.post(kind) } catch {
      // Someone else was faster.
      if error.code != "message-deleted" { throw error }
    }
    return .done
  }
}
