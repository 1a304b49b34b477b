import Accounts
import Dialogs
import HTTPPort

/// Retracts, rejects or ends a call, depending on the caller and its state. An ended call is unchanged.
enum EndCall: ServedOperation {
  typealias Input = EndCallInput
  typealias Output = EmptyBody
  static let name = "call.end"
  static let method = Method.delete
  static let path = "/v1/calls/{callId}"

  static func perform(_ input: EndCallInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    let signal = CallSignalInput(
      callId: input.callId, action: CallSignalInput.Action.end.rawValue, reason: input.reason)
    try await call.parley.post(SignalCall.intent(signal, by: caller, call.parley), by: caller.user)
    return .done
  }
}
