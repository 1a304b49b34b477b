import Basics
import JSON

struct HistoryInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A message's id or a `nextCursor`: older messages than that one.
  var before: String?
  /// The same for newer ones; not together with `before`.
  var after: String?
  var limit: Int?
}

struct SendMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// Names the message for its sender: a repeat with the same content is
  /// answered with the first result, with other content refused.
  var clientId: String
  /// Absent where something is forwarded.
  var content: ContentBody?
  var metadata: RawObject?
  /// The id of the message that this one answers.
  var replyTo: String?
  /// Members who are named in the text.
  var mentions: [MentionBody]?
  /// What to say again, in place of `content`.
  var forwardFrom: ForwardFromBody?
  /// Has no place here: `POST /v1/dialogs/{dialogId}/scheduled-messages` sends later, and nobody's message for tomorrow is to
  /// be sent today.
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
  /// What it says from now on; the same as `content` of type `text`.
  var text: String?
  var content: ContentBody?
  /// Members who are named in the new text; absent: nobody, whoever was in the old one.
  var mentions: [MentionBody]?
  /// Names the edit, as that of `SendMessageInput` names a message.
  var clientId: String?
}

struct DeleteMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// `everyone`: nobody has it any more; `me`: the caller has not.
  var whom: String
  /// For those who had it.
  var reason: String?
  private enum CodingKeys: String, CodingKey {
    case dialogId, messageId, reason
    case whom = "for"
  }
}

struct SetReactionsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// All of the caller's; none takes them back.
  var emoji: [String]
}

struct SetMarkerInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A message's id.
  var delivered: String?
  /// A message's id; what was read has been delivered.
  var read: String?
  /// The other side is not told.
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
