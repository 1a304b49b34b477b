public import Dialogs

/// The connection to push services.
public protocol PushRoute: Sendable {
  /// Publishes and waits for the answer, for a bounded time; returns early when its task is cancelled.
  func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome
}

/// The content of a publication, which a `PushRoute` renders.
public struct PushSummary: Sendable {
  /// The number of messages, at least one.
  public let count: Int
  /// The number of subscription requests that the user has not answered.
  public let requests: Int
  /// The last of the messages.
  public let last: Entry
  /// The notices for a device: one for each dialog, and one for each call, in the order of the log; at most
  /// `PushLimits.noticesMax`, the newest.
  public let notices: [PushNotice]

  public init(count: Int, requests: Int, last: Entry, notices: [PushNotice] = []) {
    self.count = count
    self.requests = requests
    self.last = last
    self.notices = notices
  }
}

/// The content of a message in its push, which passes through third parties (XEP-0357 9).
public enum PushContent: String, Sendable, CaseIterable {
  /// Only the existence of a message.
  case none
  /// The sender too.
  case sender
  /// The sender and the text.
  case body
}
