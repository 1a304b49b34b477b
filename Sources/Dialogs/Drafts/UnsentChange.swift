public import Basics

/// A change of a user's drafts or scheduled messages, in the owner's `self` dialog. The log contains only the last
/// change of each draft and scheduled message.
public enum UnsentChange: Sendable, Hashable {
  /// A changed draft; `nil` if it was removed.
  case draft(DialogID, DialogDraft?)
  case scheduled(ScheduledChange)
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

/// A request concerning the author's drafts and scheduled messages.
public enum UnsentIntent: Sendable {
  /// Stores a draft; an empty text removes it. `Receipt.value` is the `DialogDraft`, if there is one; `isRepeat` tells
  /// that nothing changed.
  case draft(DialogID, text: String, replyTo: PublicID?)
  /// Schedules a message. `Receipt.value` is the `ScheduledMessage`; `isRepeat` tells that it was scheduled before, and
  /// `Receipt.entry` that it has also been sent.
  case schedule(ScheduleDraft)
  /// Changes a scheduled message; `nil` leaves a field unchanged. `Receipt.value` is the `ScheduledMessage`.
  case reschedule(Int64, due: Timestamp?, content: Content?)
  case cancel(Int64)
  /// Sends a due message in the author's name, or records the failure; posted by the server itself.
  case send(Int64)
}
