import Accounts
import Dialogs
import HTTPPort

/// Cancels a scheduled message that has not been sent.
enum CancelScheduledMessage: ServedOperation {
  typealias Input = ScheduledMessageReference
  typealias Output = EmptyBody
  static let name = "scheduled.cancel"
  static let method = Method.delete
  static let path = "/v1/scheduled-messages/{scheduledMessageId}"

  static func perform(
    _ input: ScheduledMessageReference, _ call: RequestContext
  ) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    let id = try Rendering.scheduled(input.scheduledMessageId)
    try await ScheduledMessages(call.parley).post(.cancel(id), by: caller)
    return .done
  }
}
