import Basics
import JSON

/// A message in its current state. It is the same for every viewer, except for the user ids in a dialog that hides
/// identities.
struct MessageBody: Hashable, Sendable, JSONObjectWritable {
  /// The message's id: XEP-0359's stanza id and XEP-0313's archive id.
  var id: String
  /// The message's number within the dialog, from 1 without gaps.
  var seq: Int64
  var dialogId: String
  /// The sender's id. In a dialog that hides identities from the caller: an id that the sender has in this dialog only.
  var senderId: String
  /// The id that the sender's app gave the message. For a message of an XMPP client: the `id` of its stanza in what backends get, absent
  /// in what apps get.
  var clientId: String?
  var sentAt: Timestamp
  var content: ContentBody
  var metadata: RawObject?
  /// The id of the message that this one replies to.
  var replyTo: String?
  /// The mentions in the sender's order; absent if there are none.
  var mentions: [MentionBody]?
  /// The time of the last edit.
  var editedAt: Timestamp?
  /// The time of the deletion; `content` is then of type `deleted`.
  var deletedAt: Timestamp?
  /// The id of the user who deleted it: the sender or, in a group, an admin.
  var deletedBy: String?
  var reactions: ReactionsBody?
  /// The number of changes; absent if there are none. Of two copies the one with the greater number is the newer.
  var version: Int64?
  /// The sender's nickname in the group or public dialog at that time.
  var senderNick: String?
  /// The origin of a forwarded message.
  var forwardedFrom: ForwardedFromBody?
  /// The time at which the message was pinned.
  var pinnedAt: Timestamp?
  var pinnedBy: String?
  /// The reason why a user on another server did not get it; absent as far as is known.
  var delivery: DeliveryBody?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("seq", seq)
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("senderNick", senderNick)
    writer.member("clientId", clientId)
    writer.member("sentAt", sentAt)
    writer.member("content", content)
    writer.member("metadata", metadata)
    writer.member("replyTo", replyTo)
    writer.member("forwardedFrom", forwardedFrom)
    writer.member("mentions", mentions)
    writer.member("editedAt", editedAt)
    writer.member("deletedAt", deletedAt)
    writer.member("deletedBy", deletedBy)
    writer.member("reactions", reactions)
    writer.member("pinnedAt", pinnedAt)
    writer.member("pinnedBy", pinnedBy)
    writer.member("delivery", delivery)
    writer.member("version", version)
  }
}

/// The delivery of a message to a user on another server.
struct DeliveryBody: Hashable, Sendable, JSONObjectWritable {
  enum State: String, Hashable, Sendable { case queued, failed }
  var state: State
  /// The stable name of the reason of a failure: `remote-server-timeout`.
  var code: String?
  /// The reason for people.
  var text: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("state", state.rawValue)
    writer.member("code", code)
    writer.member("text", text)
  }
}

/// The reactions as an object from emoji to user ids, `{"👍":["romeo","nurse"]}`. The emoji, and the users of each, are
/// in the order of their first use.
struct ReactionsBody: Hashable, Sendable, JSONObjectWritable {
  struct Line: Hashable, Sendable {
    var emoji: String
    var userIds: [String]
  }
  var lines: [Line]

  func writeMembers(to writer: inout JSONWriter) {
    for line in lines {
      writer.name(text: line.emoji)
      writer.beginArray()
      for id in line.userIds { writer.string(id) }
      writer.endArray()
    }
  }
}
