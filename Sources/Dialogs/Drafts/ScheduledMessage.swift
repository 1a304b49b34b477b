/// A message that its author has written and the server is to send at a time.
public struct ScheduledMessage: Sendable, Hashable {
  /// Follows from dialog and `clientId`: of one author no two have the same, and a repeat has that of the first.
  public let id: Int64
  public let author: Party
  public let dialog: DialogID
  public let createdAt: Timestamp
  public var due: Timestamp
  public var content: Content
  /// As the author named it; whether it is there is seen when it is sent.
  public var replyTo: PublicID?
  public var mentions: [MentionDraft]
  /// Of the message that it becomes.
  public var key: RepeatKey
  /// Why it was not sent when it was due. It stays until its author sets another time or takes it back.
  public var failure: Failure?
  /// Of the entry that tells of the last change; `.zero`: there is none yet.
  public var position: Position

  public struct Failure: Hashable, Sendable {
    /// Of the `Problem`.
    public var code: String
    public var text: String
    public init(code: String, text: String) {
      self.code = code
      self.text = text
    }
  }

  public init(
    id: Int64, author: Party, dialog: DialogID, createdAt: Timestamp, due: Timestamp, content: Content,
    replyTo: PublicID? = nil, mentions: [MentionDraft] = [], key: RepeatKey, failure: Failure? = nil,
    position: Position = .zero
  ) {
    self.id = id
    self.author = author
    self.dialog = dialog
    self.createdAt = createdAt
    self.due = due
    self.content = content
    self.replyTo = replyTo
    self.mentions = mentions
    self.key = key
    self.failure = failure
    self.position = position
  }

  public static func id(in dialog: DialogID, clientID: String) -> Int64 {
    var digest = Digest64()
    withUnsafeBytes(of: dialog.number.littleEndian) { digest.combine($0) }
    digest.combine(clientID)
    return Int64(truncatingIfNeeded: digest.finish() >> 1)
  }
}

/// What is to be sent later.
public struct ScheduleDraft: Sendable {
  public var dialog: DialogID
  public var due: Timestamp
  public var content: Content
  public var replyTo: PublicID?
  public var mentions: [MentionDraft]
  public var key: RepeatKey

  public init(
    dialog: DialogID, due: Timestamp, content: Content, replyTo: PublicID?, mentions: [MentionDraft], key: RepeatKey
  ) {
    self.dialog = dialog
    self.due = due
    self.content = content
    self.replyTo = replyTo
    self.mentions = mentions
    self.key = key
  }
}
