import Accounts
import Basics
import Dialogs
import HTTPPort

/// Schedules a message, which the server sends later, even without any client of the caller's. 201 the first time; the
/// same `clientId` with the same content is a repeat and answers 200 with the current state, at its first time.
enum ScheduleMessage: ServedOperation {
  typealias Input = ScheduleMessageInput
  typealias Output = ScheduledMessageBody
  static let name = "scheduled.create"
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/scheduled-messages"
  static let successes = [200, 201]

  static func perform(
    _ input: ScheduleMessageInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<ScheduledMessageBody> {
    let caller = try call.user()
    let place = try await call.door.dialogs.place(input.dialogId, for: caller.user)
    var message = SendMessageInput(
      dialogId: input.dialogId, clientId: input.clientId, content: input.content, metadata: input.metadata,
      replyTo: input.replyTo, mentions: input.mentions)
    let receipt: Receipt
    do throws(Problem) {
      if let read = SendMessage.reading(message, by: caller.user, in: place, call.parley) {
        message = try await call.parley.read(read)
      }
      let parsed = try SendMessage.parse(message, by: caller.user, call.parley)
      let draft = ScheduleDraft(
        dialog: place.id, due: input.sendAt, content: parsed.content,
        replyTo: parsed.replyTo, mentions: parsed.mentions, key: parsed.key)
      receipt = try await ScheduledMessages(call.parley).post(.schedule(draft), by: caller.user)
    } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller.user)
    }
    guard let scheduled = receipt.value as? ScheduledMessage else {
      throw Problem(.internal, "outcome-missing", "The message was scheduled, but it cannot be shown.")
    }
    let body = call.rendering.scheduled(scheduled, message: receipt.entry)
    return receipt.isRepeat ? .ok(body) : .created(body)
  }
}
