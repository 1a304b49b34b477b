import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Tells the others that the caller is typing, or has stopped (XEP-0085). An app's indicator ends by itself after 8 s;
/// it must be renewed while typing continues.
enum SetTyping: ServedOperation {
  typealias Input = TypingInput
  typealias Output = EmptyBody
  static let name = CommandName.typing.rawValue
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/typing"

  static func perform(_ input: TypingInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    let place = try await call.door.dialogs.place(input.dialogId, for: caller.user)
    let intent = intent(input.on, from: caller.user, resource: nil, in: place)
    if case .room = place {
      // The core checks that the caller belongs to it.
      do throws(Problem) { try await call.parley.post(intent, by: caller.user) } catch {
        throw await call.door.dialogs.refusal(error, of: place, to: caller.user)
      }
      return .done
    }
    let post = Post(author: caller.user, intent: intent, completion: .none, from: call.address)
    guard call.parley.submit(post) else { throw Problem.overloaded }
    return .done
  }

  /// Returns the post, in order behind the author's messages: "stopped" must not overtake the typed message.
  static func intent(_ on: Bool, from author: Party, resource: String?, in place: DialogPlace) -> Intent {
    func stanza(_ type: Envelope.MessageType, to address: BareJID) -> RelayedStanza {
      RelayedStanza(
        name: .message(type), from: author, fromResource: resource, to: address, toResource: nil, id: nil, extras: [],
        typing: on)
    }
    switch place {
    case .peer(_, let peer):
      return .signal(.stanza(stanza(.chat, to: peer.address)), to: .user(peer.address, resource: nil))
    case .room(let room):
      return .room(.signal(.dialog(room.dialog), stanza(.groupchat, to: room.address)))
    }
  }
}
