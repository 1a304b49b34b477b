public import Addresses

/// Somebody who is asked before a message is committed: the backend's `message.before_send`.
public protocol BeforeSendHook: Sendable {
  /// Returns when there is an answer, or none in time.
  func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer
}

/// A message that is about to be said, or an edit.
public struct BeforeSendQuestion: Sendable {
  public let author: Party
  /// The addressee of a private message; nil: it is said in a room.
  public let recipient: BareJID?
  /// Where it is said, as its author names it; nil: not in a room.
  public let room: RoomReference?
  public let content: Content
  /// The message that it is about: an edit, a reply.
  public let reference: ReferenceDraft?
  /// What its author calls it.
  public let id: String?
  /// By the app protocol, else by XMPP.
  public let isFromApp: Bool
}

public enum BeforeSendAnswer: Hashable, Sendable {
  case allow
  /// This is said instead.
  case change(text: String)
  /// `code` for programs, `text` for people.
  case refuse(code: String, text: String)
  /// None that could be used: `BeforeSendPolicy.passesUnanswered` decides.
  case none
}

/// How messages are asked for.
public struct BeforeSendPolicy: Sendable {
  /// What nobody answered is said (fail open); else its author is told to try again.
  public var passesUnanswered: Bool
  /// What is encrypted is said without asking; else it is refused.
  public var passesEncrypted: Bool
  /// Questions at a time. At the bound a message counts as unanswered.
  public var questionsMax: Int

  public init(passesUnanswered: Bool, passesEncrypted: Bool, questionsMax: Int = Limits.gateQuestionsMax) {
    self.passesUnanswered = passesUnanswered
    self.passesEncrypted = passesEncrypted
    self.questionsMax = questionsMax
  }
}

/// Puts another text into what XMPP said in its own words (`Content.extras`), which the core does not read.
public protocol ContentRewriting: Sendable {
  func extras(_ extras: [UInt8], saying text: String) -> [UInt8]
}

/// The before-send hook in front of the log, if there is one.
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
