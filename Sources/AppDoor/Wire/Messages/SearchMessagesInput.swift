/// A search for messages, with at least one of `query` and `type`.
struct SearchMessagesInput: Decodable, Hashable, Sendable {
  /// Words that are all in the message.
  var query: String?
  /// A `ContentBody.Kind`.
  var type: String?
  /// The dialog; absent for all of the caller's.
  var dialogId: String?
  /// The author.
  var from: String?
  var cursor: String?
  var limit: Int?
}
