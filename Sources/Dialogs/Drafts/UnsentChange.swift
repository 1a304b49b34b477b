/// What a user has written and not sent has changed (in the owner's `self` dialog). Of each draft and each scheduled message
/// the log holds the last change only.
public enum UnsentChange: Sendable, Hashable {
  /// nil: there is none any more.
  case draft(DialogID, DialogDraft?)
  case scheduled(ScheduledChange)
}

/// What became of a scheduled message. What it says is not among it: that goes with the message.
public struct ScheduledChange: Sendable, Hashable {
  /// Stored: never renumber.
  public enum State: UInt8, Sendable, CaseIterable { case pending = 1, failed = 2, sent = 3, cancelled = 4 }
  public var id: Int64
  public var dialog: DialogID
  public var due: Timestamp
  public var state: State
  /// What it has become.
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

/// Anything about what the author has written and not sent.
public enum UnsentIntent: Sendable {
  /// An empty text: none. `Receipt.value`: the `DialogDraft`, where there is one; `isRepeat`: it was so.
  case draft(DialogID, text: String, replyTo: PublicID?)
  /// `Receipt.value`: the `ScheduledMessage`; `isRepeat`: it was scheduled before. `Receipt.entry`: it was, and has
  /// been sent.
  case schedule(ScheduleDraft)
  /// nil leaves as it is. `Receipt.value`: the `ScheduledMessage`.
  case reschedule(Int64, due: Timestamp?, content: Content?)
  case cancel(Int64)
  /// The server's own, at its time: says it in the author's name, or notes why not.
  case send(Int64)
}
