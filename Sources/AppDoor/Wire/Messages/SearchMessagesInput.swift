/// Of `query` and `type` at least one.
struct SearchMessagesInput: Decodable, Hashable, Sendable {
  /// Words that are all in the message.
  var query: String?
  /// A `ContentBody.Kind`.
  var type: String?
  /// Absent: all that the caller is in.
  var dialogId: String?
  /// Who said it.
  var from: String?
  var cursor: String?
  var limit: Int?
}
