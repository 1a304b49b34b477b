import Basics
import JSON

/// The caller's draft in a dialog: private, and shared by all their clients.
struct DraftBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var text: String
  /// The message to reply to.
  var replyTo: String?
  var updatedAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("text", text)
    writer.member("replyTo", replyTo)
    writer.member("updatedAt", updatedAt)
  }
}

/// `draft.updated`, durable: the caller's draft was changed or removed.
struct DraftUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The draft; absent if there is none.
  var draft: DraftBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("draft", draft)
  }
}

struct DraftInput: Decodable, Hashable, Sendable {
  var dialogId: String
}

struct PutDraftInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var text: String
  var replyTo: String?
}
