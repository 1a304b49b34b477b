import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort

/// Sends a custom event to the others present; it is not stored.
enum SendCustomEvent: ServedOperation {
  typealias Input = CustomEventInput
  typealias Output = EmptyBody
  static let name = CommandName.custom.rawValue
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/events"

  static func perform(_ input: CustomEventInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    try call.door.limiters.customs.take(caller.id, now: call.parley.clock.now, telling: RateLog.current)
    let event = try Checks.custom(input)
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    do throws(Problem) {
      try await call.parley.post(intent(event, from: caller, resource: nil, in: place), by: caller)
    } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
    return .done
  }

  /// Returns the post, in order behind the author's messages, as for typing.
  static func intent(_ event: CustomEvent, from author: Party, resource: String?, in place: DialogPlace) -> Intent {
    func stanza(_ type: Envelope.MessageType, to address: BareJID) -> RelayedStanza {
      RelayedStanza(
        name: .message(type), from: author, fromResource: resource, to: address, toResource: nil, id: nil, extras: [],
        custom: event, isPrivate: true)
    }
    switch place {
    case .peer(_, let peer):
      return .signal(.stanza(stanza(.chat, to: peer.address)), to: .user(peer.address, resource: nil))
    case .room(let room):
      return .room(.signal(.dialog(room.dialog), stanza(.groupchat, to: room.address)))
    }
  }
}
