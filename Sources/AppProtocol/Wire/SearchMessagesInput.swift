/// Of `query` and `type` at least one.
public struct SearchMessagesInput: Codable, Hashable, Sendable {
  /// Words that are all in the message.
  public var query: String?
  /// A `ContentBody.Kind`.
  public var type: String?
  /// Absent: all that the caller is in.
  public var dialogId: String?
  /// Who said it.
  public var from: String?
  public var cursor: String?
  public var limit: Int?
  public init(
    query: String? = nil, type: String? = nil, dialogId: String? = nil, from: String? = nil, cursor: String? = nil,
    limit: Int? = nil
  ) {
    self.query = query
    self.type = type
    self.dialogId = dialogId
    self.from = from
    self.cursor = cursor
    self.limit = limit
  }
}
