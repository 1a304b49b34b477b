import Accounts
import Basics
import Dialogs
import HTTPPort

/// Changes the time or content of a scheduled message. A failed one is tried again at its new time.
enum UpdateScheduledMessage: ServedOperation {
  typealias Input = UpdateScheduledMessageInput
  typealias Output = ScheduledMessageBody
  static let name = "scheduled.update"
  static let method = Method.patch
  static let path = "/v1/scheduled-messages/{scheduledMessageId}"

  static func perform(
    _ input: UpdateScheduledMessageInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<ScheduledMessageBody> {
    let caller = try call.user().user
    let id = try Rendering.scheduled(input.scheduledMessageId)
    if input.metadata != nil && input.content == nil {
      throw Problem(.malformed, "content-missing", "metadata comes with its content.", field: "content")
    }
    let content = try input.content.map { body throws(Problem) in try Checks.content(body, metadata: input.metadata) }
    let due = input.sendAt
    let intent = ScheduledMessageIntent.reschedule(id, due: due, content: content)
    guard let scheduled = try await ScheduledMessages(call.parley).post(intent, by: caller).value as? ScheduledMessage
    else {
      throw Problem.scheduledUnknown
    }
    return .ok(call.rendering.scheduled(scheduled))
  }
}
