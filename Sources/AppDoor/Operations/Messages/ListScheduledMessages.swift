import Accounts
import Dialogs
import HTTPPort

/// Lists all of the caller's scheduled messages, the next first, with failed ones.
enum ListScheduledMessages: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<ScheduledMessageBody>
  static let name = "scheduled.list"
  static let method = Method.get
  static let path = "/v1/scheduled-messages"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let scheduled = try await call.readMessages { try $0.scheduled(of: caller.id) }
    return .ok(PageBody(items: scheduled.map { call.rendering.scheduled($0) }))
  }
}
