import Basics
import JSON

struct HistoryInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A message's id or a `nextCursor`; the page has older messages.
  var before: String?
  /// A message's id or a `nextCursor`; the page has newer messages. Empty: from the first one on. Excludes `before`.
  var after: String?
  var limit: Int?
  /// The parts of the dialog to include (`OpenedDialogBody.Part`), separated by commas.
  var include: String?
}

struct SendMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// The message's id for its sender. A repeat with the same content is answered with the first result, one with other
  /// content is refused.
  var clientId: String
  /// The content; absent for a forwarded message.
  var content: ContentBody?
  var metadata: RawObject?
  /// The id of the message that this one replies to.
  var replyTo: String?
  /// The members who are mentioned in the text.
  var mentions: [MentionBody]?
  /// The message to forward, instead of `content`.
  var forwardFrom: ForwardFromBody?
  /// Refused here, so that no message for later is sent at once: `POST /v1/dialogs/{dialogId}/scheduled-messages`
  /// schedules.
  var sendAt: Timestamp?
}

extension SendMessageInput: DirectInput {
  init(_ members: InputMembers) throws {
    dialogId = try members.text("dialogId")
    clientId = try members.text("clientId")
    content = try members.inputIfPresent("content")
    metadata = try members.ifPresent("metadata")
    replyTo = try members.textIfPresent("replyTo")
    mentions = try members.ifPresent("mentions")
    forwardFrom = try members.ifPresent("forwardFrom")
    sendAt = try members.ifPresent("sendAt")
  }
}

struct EditMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// The new text; equal to a `content` of type `text`.
  var text: String?
  var content: ContentBody?
  /// The members who are mentioned in the new text; absent means none, whatever the old text had.
  var mentions: [MentionBody]?
  /// The edit's id, with the semantics of `SendMessageInput.clientId`.
  var clientId: String?
}

struct DeleteMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// `everyone` deletes the message for all members, `me` only for the caller.
  var whom: String
  /// A reason that the members see.
  var reason: String?
  private enum CodingKeys: String, CodingKey {
    case dialogId, messageId, reason
    case whom = "for"
  }
}

struct SetReactionsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// All of the caller's reactions to the message; an empty array removes them.
  var emoji: [String]
}

struct SetMarkerInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// The id of the last delivered message.
  var delivered: String?
  /// The id of the last read message; it counts as delivered too.
  var read: String?
  /// Whether the marker is kept from the other members.
  var isPrivate: Bool?
  private enum CodingKeys: String, CodingKey {
    case dialogId, delivered, read
    case isPrivate = "private"
  }
}

extension SetMarkerInput: DirectInput {
  init(_ members: InputMembers) throws {
    dialogId = try members.text("dialogId")
    delivered = try members.textIfPresent("delivered")
    read = try members.textIfPresent("read")
    isPrivate = try members.ifPresent("private")
  }
}
