import Accounts
import Basics
import Dialogs
import HTTPPort
import JSON

/// Moves a call for a device: it rings, answers, ends the call, or signals to the other device. It is the same as the
/// command `call.signal`, for a client that was woken and has no WebSocket.
enum SignalCall: ServedOperation {
  typealias Input = CallSignalInput
  typealias Output = CallBody
  static let name = CommandName.callSignal.rawValue
  static let method = Method.post
  static let path = "/v1/calls/{callId}/signals"

  static func perform(_ input: CallSignalInput, _ call: RequestContext) async throws(Problem) -> Outcome<CallBody> {
    let caller = try call.user()
    try call.door.limiters.signals.take(caller.user.id, now: call.parley.clock.now)
    let receipt = try await call.parley.post(intent(input, by: caller, call.parley), by: caller.user)
    return .ok(try call.rendering.call(receipt))
  }

  static func intent(_ input: CallSignalInput, by caller: Accounts.Caller, _ parley: Parley) throws(Problem) -> Intent {
    guard let id = PublicID(input.callId).flatMap({ parley.position(of: $0, in: caller.user.realm) }) else {
      throw Problem.callUnknown
    }
    let resource = OpenSession.resource(caller)
    guard let action = CallSignalInput.Action(rawValue: input.action) else {
      throw Problem(
        .malformed, "action-unknown",
        "action is one of \(CallSignalInput.Action.allCases.map(\.rawValue).joined(separator: ", ")).", field: "action")
    }
    let body: CallSignal.Body
    switch action {
    case .ringing: return .call(.move(id, .heard, resource: resource))
    case .accept: return .call(.move(id, .accept, resource: resource))
    case .reject, .end: return .call(.move(id, .end(try reason(input.reason)), resource: resource))
    case .offer: body = CallSignal.Body(action: .offer, sdp: try sdp(input.sdp))
    case .answer: body = CallSignal.Body(action: .answer, sdp: try sdp(input.sdp))
    case .candidate: body = CallSignal.Body(action: .candidate, candidate: try object(input.candidate, "candidate"))
    case .info: body = CallSignal.Body(action: .info, info: try object(input.info, "info"))
    }
    return .call(.signal(id, body, resource: resource))
  }

  private static func reason(_ word: String?) throws(Problem) -> Dialogs.Call.Reason? {
    guard let word else { return nil }
    guard let reason = Dialogs.Call.Reason.allCases.first(where: { $0.word == word }) else {
      throw Problem(
        .malformed, "reason-unknown",
        "reason is one of \(CallBody.Reason.allCases.map(\.rawValue).joined(separator: ", ")).", field: "reason")
    }
    return reason
  }

  private static func sdp(_ text: String?) throws(Problem) -> String {
    guard let text, !text.isEmpty else {
      throw Problem(.malformed, "sdp-missing", "An offer and an answer bring their sdp.", field: "sdp")
    }
    guard text.utf8.count <= Limits.callSDPBytesMax else {
      throw Problem(
        .tooLarge, "sdp-too-long", "sdp has at most \(Limits.callSDPBytesMax) bytes.", field: "sdp")
    }
    return text
  }

  private static func object(_ object: RawObject?, _ field: String) throws(Problem) -> String {
    guard let object else {
      throw Problem(.malformed, "\(field)-missing", "\(field) is missing: an object.", field: field)
    }
    guard object.text.utf8.count <= Limits.callSignalBytesMax else {
      throw Problem(
        .tooLarge, "\(field)-too-long", "\(field) has at most \(Limits.callSignalBytesMax) bytes.", field: field)
    }
    return object.text
  }
}
