import Basics
import JSON

/// A message as it is now, the same for every viewer but for the ids of people in a
/// dialog that hides who they are.
struct MessageBody: Hashable, Sendable, JSONObjectWritable {
  /// XEP-0359's stanza-id and XEP-0313's archive id of the same message.
  var id: String
  /// Dense within the dialog, from 1.
  var seq: Int64
  var dialogId: String
  /// Where the dialog does not show the caller who its people are: an id that the sender
  /// has in this dialog only.
  var senderId: String
  /// What the sender's app called it; absent for messages of XMPP clients.
  var clientId: String?
  var sentAt: Timestamp
  var content: ContentBody
  var metadata: RawObject?
  /// The message that this one answers.
  var replyTo: String?
  /// In the order in which its author put them; absent: nobody.
  var mentions: [MentionBody]?
  /// Of the last edit.
  var editedAt: Timestamp?
  /// Then the content is of type `deleted`.
  var deletedAt: Timestamp?
  /// Its sender or, in a group, an admin.
  var deletedBy: String?
  var reactions: ReactionsBody?
  /// How often it has changed; absent: never. Of two copies the one with the greater
  /// number is the later.
  var version: Int64?
  /// What the sender was called in the group or public dialog.
  var senderNick: String?
  /// Where it was said before.
  var forwardedFrom: ForwardedFromBody?
  /// Since when it stands at the top of its dialog.
  var pinnedAt: Timestamp?
  var pinnedBy: String?

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
    writer.member("version", version)
  }
}

/// `{"👍":["romeo","nurse"]}`: who reacted how. Emoji in the order in which they
/// were first used, and so the people of each.
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
