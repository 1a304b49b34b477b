import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's calls that have not ended, the newest first: for a client that has just been woken.
enum ListCalls: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<CallBody>
  static let name = "call.list"
  static let method = Method.get
  static let path = "/v1/calls"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let calls = try await Calls(call.parley).open(of: call.user().user)
    return .ok(PageBody(items: calls.map { call.rendering.call($0) }))
  }
}
