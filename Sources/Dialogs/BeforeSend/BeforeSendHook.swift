public import Addresses

/// A hook that decides about each message before it is committed: the backend's `message.before_send`.
public protocol BeforeSendHook: Sendable {
  /// Returns the answer, or none after the timeout.
  func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer
}

/// A message, or an edit, that is about to be sent.
public struct BeforeSendQuestion: Sendable {
  public let author: Party
  /// The addressee of a private message; `nil` for a room.
  public let recipient: BareJID?
  /// The room as its author names it; `nil` for a private message.
  public let room: RoomReference?
  public let content: Content
  /// The reference to an earlier message, such as an edit or a reply.
  public let reference: ReferenceDraft?
  /// The author's id of the message.
  public let id: String?
  /// Whether it was sent by the app protocol, otherwise by XMPP.
  public let isFromApp: Bool
}

public enum BeforeSendAnswer: Hashable, Sendable {
  case allow
  /// This text is sent instead.
  case change(text: String)
  /// The message is refused, with a `code` for programs and a `text` for people.
  case refuse(code: String, text: String)
  /// There is no usable answer: `BeforeSendPolicy.passesUnanswered` decides.
  case none
}

/// The settings of the hook.
public struct BeforeSendPolicy: Sendable {
  /// Whether a message without answer is sent (fail open); otherwise its author is told to try again.
  public var passesUnanswered: Bool
  /// Whether encrypted messages are sent without asking; otherwise they are refused.
  public var passesEncrypted: Bool
  /// The greatest number of concurrent questions. Further messages count as unanswered.
  public var questionsMax: Int
  /// The bytes of the posts that wait for answers.
  public var bytesMax: Int

  public init(
    passesUnanswered: Bool, passesEncrypted: Bool, questionsMax: Int = Limits.beforeSendQuestionsMax,
    bytesMax: Int = Limits.beforeSendBytesMax
  ) {
    self.passesUnanswered = passesUnanswered
    self.passesEncrypted = passesEncrypted
    self.questionsMax = questionsMax
    self.bytesMax = bytesMax
  }
}

/// Replaces the text in a message's XMPP elements (`Content.extras`), which the core does not read.
public protocol ContentRewriting: Sendable {
  func extras(_ extras: [UInt8], saying text: String) -> [UInt8]
}

/// The before-send hook in front of the log, with its settings.
public struct BeforeSendOptions: Sendable {
  public var policy: BeforeSendPolicy
  public var beforeSend: any BeforeSendHook
  public var rewriting: any ContentRewriting
  public init(policy: BeforeSendPolicy, beforeSend: any BeforeSendHook, rewriting: any ContentRewriting) {
    self.policy = policy
    self.beforeSend = beforeSend
    self.rewriting = rewriting
  }
}

extension Problem {
  static let unanswered = Problem(
    .overloaded, "message-unanswered", "Whoever looks at messages here does not answer. Try again shortly.",
    retryAfter: 5)
  static let encryptedRefused = Problem(
    .refused, "message-encrypted", "Encrypted messages are not taken here, because nobody could look at them.")
}
