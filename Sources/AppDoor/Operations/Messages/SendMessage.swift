import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort

/// Sends a message to a dialog. 201 the first time; the same `clientId` with the same content is a repeat and answers
/// 200 with the first result, with other content it is refused.
enum SendMessage: PostingOperation {
  typealias Input = SendMessageInput
  typealias Output = MessageBody
  static let name = CommandName.sendMessage.rawValue
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/messages"
  static let rate = OperationRate.messages
  static let successes = [200, 201]

  static func dialogID(_ input: SendMessageInput) -> String { input.dialogId }

  /// Returns a read that resolves mentions, if the author may know members by ids of the dialog only.
  static func reading(
    _ input: SendMessageInput, by author: Party, in place: DialogPlace, _ parley: Parley
  ) -> (@Sendable (any StoreReader) throws -> SendMessageInput)? {
    guard case .room(let room) = place, let mentions = input.mentions, !mentions.isEmpty else { return nil }
    return { reader in
      var input = input
      input.mentions = try MemberReference.named(mentions, in: room, by: author, parley, reader)
      return input
    }
  }

  static func limit(_ limiters: AppDoor.Limiters, _ session: OpenSession, now: Timestamp) throws(Problem) {
    try session.sending.take(messages: 1, now: now)
  }

  /// The content of an input, and what identifies its repeats.
  struct ParsedMessage {
    let content: Content
    let forward: ForwardDraft?
    let replyTo: PublicID?
    let mentions: [MentionDraft]
    let key: RepeatKey
  }

  static func parse(_ input: SendMessageInput, by author: Party, _ parley: Parley) throws(Problem) -> ParsedMessage {
    try Checks.clientID(input.clientId)
    if input.sendAt != nil {
      throw Problem(
        .malformed, "send-at-misplaced", "What is to be sent later is scheduled: see scheduled-messages.",
        field: "sendAt")
    }
    let (content, forward) = try content(input, by: author, parley)
    var digest = Digest64()
    digest.combine("\(content.kind.rawValue)")
    digest.combine(content.text)
    digest.combine(content.fields ?? "")
    for attachment in content.attachments { digest.combine(attachment.blob?.description ?? "") }
    if let from = input.forwardFrom { digest.combine("forward \(from.dialogId) \(from.messageId)") }
    var replyTo: PublicID?
    if let id = input.replyTo {
      replyTo = try Checks.message(id, field: "replyTo")
      digest.combine(id)
    }
    let mentions = try Checks.mentions(input.mentions, domain: author.address.domain)
    for mention in mentions { digest.combine("\(mention)") }
    return ParsedMessage(
      content: content, forward: forward, replyTo: replyTo, mentions: mentions,
      key: RepeatKey(rule: .app, id: input.clientId, bodyHash: digest.finish()))
  }

  static func intents(
    _ input: SendMessageInput, by author: Accounts.Caller, resource: String?, in place: DialogPlace, _ parley: Parley
  ) throws(Problem) -> [Intent] {
    let parsed = try parse(input, by: author.user, parley)
    let reference = parsed.replyTo.map { ReferenceDraft(kind: .reply, target: .entry($0)) }
    switch place {
    case .peer(_, let peer):
      return [
        .message(
          MessageDraft(
            to: peer.address, content: parsed.content,
            envelope: Envelope(type: .chat, fromResource: resource, id: input.clientId),
            traits: [.counts, .archived, .replayed, .markable, .receipted, .fromApp], key: parsed.key,
            reference: reference, mentions: parsed.mentions, forward: parsed.forward))
      ]
    case .room(let room):
      // There are no delivery receipts for a whole group (XEP-0184 5.3).
      return [
        .room(
          .say(
            .dialog(room.dialog),
            RoomMessageDraft(
              content: parsed.content, envelope: Envelope(type: .groupchat, fromResource: resource, id: input.clientId),
              traits: [.counts, .archived, .markable, .fromApp], key: parsed.key, reference: reference,
              mentions: parsed.mentions, forward: parsed.forward)))
      ]
    }
  }

  /// Returns the content, or the message to forward: the core checks that the author may read it.
  private static func content(
    _ input: SendMessageInput, by author: Party, _ parley: Parley
  ) throws(Problem) -> (Content, ForwardDraft?) {
    switch (input.content, input.forwardFrom) {
    case (let content?, nil): return (try Checks.content(content, metadata: input.metadata), nil)
    case (nil, let from?):
      // A forwarded message cannot carry its own metadata or mentions.
      guard input.metadata == nil, input.mentions == nil else {
        throw Problem(
          .malformed, "input-malformed", "A message that is forwarded takes no metadata and no mentions.",
          field: "forwardFrom")
      }
      guard let dialog = PublicID(from.dialogId).flatMap({ parley.dialog(of: $0, in: author.realm) }) else {
        throw Problem.messageUnknown(field: "forwardFrom")
      }
      let message = try Checks.message(from.messageId, field: "forwardFrom")
      return (Content(kind: .none), ForwardDraft(dialog: dialog, message: message))
    case (nil, nil), (.some, .some):
      throw Problem(.malformed, "input-malformed", "Give content or forwardFrom.", field: "content")
    }
  }

  static func needsMark(_ receipt: Receipt) -> Bool { false }

  static func outcome(
    _ receipt: Receipt, mark: Mark?, _ author: Party, _ rendering: Rendering
  ) -> Outcome<MessageBody>? {
    var naming = ParticipantNaming.open
    if receipt.isAnonymized, let room = receipt.entry?.room {
      naming = ParticipantNaming(Anonymizer(room, rendering.parley), viewer: author.id)
    }
    guard let message = receipt.entry.flatMap({ rendering.message($0, naming) }) else { return nil }
    return receipt.isRepeat ? .ok(message) : .created(message)
  }
}
