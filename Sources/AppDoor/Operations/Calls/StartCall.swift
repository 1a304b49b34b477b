import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Calls a user, whose devices ring. 201 the first time; the same `clientId` for the same call answers 200 with its
/// state.
enum StartCall: ServedOperation {
  typealias Input = StartCallInput
  typealias Output = CallBody
  static let name = "call.start"
  static let method = Method.post
  static let path = "/v1/calls"
  static let successes = [200, 201]

  static func perform(_ input: StartCallInput, _ call: RequestContext) async throws(Problem) -> Outcome<CallBody> {
    let caller = try call.user()
    try Checks.clientID(input.clientId)
    guard let kind = Dialogs.Call.Kind.allCases.first(where: { $0.word == input.kind }) else {
      throw Problem(.malformed, "call-kind-unknown", "kind is \"audio\" or \"video\".", field: "kind")
    }
    let address = try await address(input, caller.user, call)
    var digest = Digest64()
    digest.combine(input.kind)
    digest.combine(address.description)
    let draft = CallDraft(
      to: address, kind: kind, resource: OpenSession.resource(caller),
      key: RepeatKey(rule: .app, id: input.clientId, bodyHash: digest.finish()))
    let receipt = try await call.parley.post(.call(.start(draft)), by: caller.user)
    let body = try call.rendering.call(receipt)
    return receipt.isRepeat ? .ok(body) : .created(body)
  }

  private static func address(
    _ input: StartCallInput, _ caller: Party, _ call: RequestContext
  ) async throws(Problem) -> BareJID {
    switch (input.userId, input.dialogId) {
    case (let user?, nil): return try Checks.address(user, domain: call.realm.domain)
    case (nil, let dialog?):
      guard case .peer(_, let peer) = try await call.door.dialogs.place(dialog, for: caller) else {
        throw Problem(
          .malformed, "call-not-private", "Calls are between two users: name their private dialog.",
          field: "dialogId")
      }
      return peer.address
    default:
      throw Problem(.malformed, "input-malformed", "Name whom to call by userId or by dialogId.", field: "userId")
    }
  }
}
