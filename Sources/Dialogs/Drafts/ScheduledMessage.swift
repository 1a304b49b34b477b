public import Basics

/// A message that the server sends at a time set by its author.
public struct ScheduledMessage: Sendable, Hashable {
  /// The id, derived from dialog and `clientId`: it is unique for one author, and a repeat has that of the first.
  public let id: Int64
  public let author: Party
  public let dialog: DialogID
  public let createdAt: Timestamp
  public var due: Timestamp
  public var content: Content
  /// The message to reply to, by the author's reference; it is looked up on sending.
  public var replyTo: PublicID?
  public var mentions: [MentionDraft]
  /// The key of the message that it becomes.
  public var key: RepeatKey
  /// The reason why it was not sent when it was due. It is kept until its author sets another time or cancels it.
  public var failure: Failure?
  /// The position of the entry of the last change; `.zero` if there is none yet.
  public var position: Position

  public struct Failure: Hashable, Sendable {
    /// The code of the `Problem`.
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

/// A request to schedule a message.
///
///     let draft = ScheduleDraft(dialog: dialog, due: due, content: content, replyTo: nil, mentions: [], key: key)
///     let receipt = try await ScheduledMessages(parley).post(.schedule(draft), by: user)
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

/// A change of a scheduled message. It does not contain the content, which is removed with the message.
public struct ScheduledChange: Sendable, Hashable {
  /// Stored: never renumber.
  public enum State: UInt8, Sendable, CaseIterable { case pending = 1, failed = 2, sent = 3, cancelled = 4 }
  public var id: Int64
  public var dialog: DialogID
  public var due: Timestamp
  public var state: State
  /// The position of the message that it became.
  public var message: Position?
  public var failure: ScheduledMessage.Failure?

  public init(
    _ scheduled: ScheduledMessage, state: State, message: Position? = nil, failure: ScheduledMessage.Failure? = nil
  ) {
    self.init(
      id: scheduled.id, dialog: scheduled.dialog, due: scheduled.due, state: state, message: message, failure: failure)
  }

  public init(
    id: Int64, dialog: DialogID, due: Timestamp, state: State, message: Position?,
    failure: ScheduledMessage.Failure?
  ) {
    self.id = id
    self.dialog = dialog
    self.due = due
    self.state = state
    self.message = message
    self.failure = failure
  }
}

/// A request concerning the author's scheduled messages.
public enum ScheduledMessageIntent: Sendable {
  /// Schedules a message. `Receipt.value` is the `ScheduledMessage`; `isRepeat` tells that it was scheduled before, and
  /// `Receipt.entry` that it has also been sent.
  case schedule(ScheduleDraft)
  /// Changes a scheduled message; `nil` leaves a field unchanged. `Receipt.value` is the `ScheduledMessage`.
  case reschedule(Int64, due: Timestamp?, content: Content?)
  case cancel(Int64)
  /// Sends a due message in the author's name, or records the failure; posted by the server itself.
  case send(Int64)
}
