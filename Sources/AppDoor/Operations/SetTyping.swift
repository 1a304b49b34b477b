import AppProtocol
import Dialogs

/// Tells the other side that the caller is typing, or no longer is (XEP-0085).
/// An indicator of an app ends by itself after 8 s; renew it while typing goes on.
enum SetTyping: ServedOperation {
  typealias Input = TypingInput
  typealias Output = EmptyBody
  static let name = CommandName.typing.rawValue
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/typing"

  static func perform(_ input: TypingInput, _ call: Call) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    let (_, peer) = try await call.door.dialogs.members(input.dialogId, for: caller.user)
    let post = Post(
      author: caller.user, intent: intent(input.on, from: caller.user, resource: nil, to: peer), completion: .none)
    guard call.parley.submit(post) else { throw Problem.overloaded }
    return .done
  }

  /// Behind the author's messages: "stopped" must not overtake what was typed.
  static func intent(_ on: Bool, from author: Party, resource: String?, to peer: Party) -> Intent {
    .signal(
      .stanza(
        RelayedStanza(
          name: .message(.chat), from: author, fromResource: resource, to: peer.address, toResource: nil, id: nil,
          extras: [], typing: on)),
      to: .user(peer.address, resource: nil))
  }
}
