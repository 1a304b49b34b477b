import Dialogs
import HTTPPort

/// Deletes a message for everybody: one's own, or as an admin of a group anybody's.
/// Nothing of what it said is left. Or for the caller alone, whose XMPP clients find it in no archive any more. A repeat
/// changes nothing.
enum DeleteMessage: ServedOperation {
  typealias Input = DeleteMessageInput
  typealias Output = EmptyBody
  static let name = "message.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}"

  static func perform(_ input: DeleteMessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    if input.whom == Audience.me.rawValue {
      try await PersonalPost(input.dialogId, call).post(.hide(try Checks.message(input.messageId, field: "messageId")))
      return .done
    }
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    guard input.whom == Audience.everyone.rawValue else {
      throw Problem(.malformed, "for-unknown", "for must be \"everyone\" or \"me\".", field: "for")
    }
    let reason = try Checks.line(input.reason, field: "reason")
    if change.state?.retraction != nil { return .done }
    // Of somebody else's message in a private dialog the core says what it says of all that are not one's own.
    var kind = Reference.Kind.retraction(reason: reason)
    if case .room = change.place, change.target.author.id != change.caller.id { kind = .moderation(reason: reason) }
    do throws(Problem) { _ = try await change.post(kind) } catch {
      // Somebody was faster.
      if error.code != "message-deleted" { throw error }
    }
    return .done
  }
}
