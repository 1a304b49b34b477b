import Accounts
import Dialogs
import HTTPPort

/// Returns one of the caller's calls.
enum GetCall: ServedOperation {
  typealias Input = CallReference
  typealias Output = CallBody
  static let name = "call.get"
  static let method = Method.get
  static let path = "/v1/calls/{callId}"

  static func perform(_ input: CallReference, _ call: RequestContext) async throws(Problem) -> Outcome<CallBody> {
    let user = try call.user().user
    guard let id = PublicID(input.callId), let found = try await Calls(call.parley).find(id, of: user) else {
      throw Problem.callUnknown
    }
    return .ok(call.rendering.call(found))
  }
}
