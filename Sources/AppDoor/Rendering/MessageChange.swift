import Accounts
import Dialogs

/// The common part of the operations that change an existing message: finding it as the caller sees it, posting the
/// change, and rendering the result.
struct MessageChange: Sendable {
  let place: DialogPlace
  let target: Entry
  let caller: Party
  let naming: ParticipantNaming
  private let call: RequestContext

  static let unknown = Problem(
    .missing, "message-unknown", "There is no such message in this dialog.", field: "messageId")

  /// Finds the message. Throws if there is none, or the caller may not read it.
  init(_ messageID: String, in dialogID: String, _ call: RequestContext) async throws(Problem) {
    self.call = call
    caller = try call.user().user
    place = try await call.door.dialogs.place(dialogID, for: caller)
    let id = PublicID(messageID)
    (target, naming) = try await Self.read(id, place, caller, call)
  }

  private static func read(
    _ id: PublicID?, _ place: DialogPlace, _ caller: Party, _ call: RequestContext
  ) async throws(Problem) -> (Entry, ParticipantNaming) {
    let position = id.flatMap { call.parley.position(of: $0, in: caller.realm) }
    let (found, naming) = try await call.parley.read { reader -> (Entry?, ParticipantNaming) in
      let (messages, _, naming) = try place.reading(for: caller, call.parley, reader)
      return (try position.flatMap { try reader.entry($0, in: messages) }, naming)
    }
    // Stanzas that only XMPP understands, and changes themselves, are no messages here.
    guard let found, call.rendering.message(found, naming) != nil else { throw unknown }
    return (found, naming)
  }

  var state: MessageState? { target.state }
  /// The message; `nil` for the server's own notice.
  var message: Message? { if case .message(let message) = target.fact { message } else { nil } }
  /// The current text; `nil` if the message was deleted.
  var text: String? { state?.retraction == nil ? state?.text ?? message?.content.text : nil }

  func shown(_ entry: Entry? = nil) throws(Problem) -> MessageBody {
    guard let body = call.rendering.message(entry ?? target, naming) else {
      throw Problem(.internal, "outcome-missing", "The change was stored, but it cannot be shown.")
    }
    return body
  }

  /// Posts the change, and returns the message after it.
  func post(
    _ kind: Reference.Kind, _ content: Content = Content(kind: .none), mentions: [MentionDraft] = [],
    key: RepeatKey? = nil
  ) async throws(Problem) -> Entry {
    let reference = ReferenceDraft(kind: kind, target: .entry(target.id))
    let intent: Intent
    switch place {
    case .peer(_, let peer):
      var traits: Message.Traits = [.archived, .fromApp]
      // A client without archive must get it too when it reconnects.
      switch kind {
      case .reactions: break
      case .pin: traits = .fromApp
      case .reply, .correction, .retraction, .moderation, .part: traits.insert(.replayed)
      }
      intent = .message(
        MessageDraft(
          to: peer.address, content: content, envelope: Envelope(type: .chat, id: key?.id), traits: traits, key: key,
          reference: reference, mentions: mentions))
    case .room(let room):
      let traits: Message.Traits = if case .pin = kind { .fromApp } else { [.archived, .fromApp] }
      intent = .room(
        .say(
          .dialog(room.dialog),
          RoomMessageDraft(
            content: content, envelope: Envelope(type: .groupchat, id: key?.id), traits: traits,
            key: key, reference: reference, mentions: mentions)))
    }
    let receipt: Receipt
    do throws(Problem) { receipt = try await call.parley.post(intent, by: caller) } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
    if !receipt.isRepeat, case .message(let said) = receipt.entry?.fact, let outcome = said.reference?.outcome {
      return outcome
    }
    // A repeat: the message's current state.
    return try await Self.read(target.id, place, caller, call).0
  }
}
