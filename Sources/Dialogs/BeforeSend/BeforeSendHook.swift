public import Addresses
public import Basics

/// A hook that decides about each message before it is committed: the backend's `message.before_send`.
public protocol BeforeSendHook: Sendable {
  /// Returns the answer, or none after the timeout.
  func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer
  /// Notes a message that counts as unanswered because it was not asked about: it has waited for its turn for `BeforeSendPolicy.patience`.
  func noteUnasked()
}

/// A message, or an edit, that is about to be sent, or to be stored as a scheduled one.
public struct BeforeSendQuestion: Sendable {
  public let author: Party
  /// The addressee of a private message; `nil` for a room, and for a change of a scheduled message that is unknown.
  public let recipient: BareJID?
  /// The room's address; `nil` for a private message.
  public let room: BareJID?
  /// The private dialog or room; `nil` if it does not exist yet, or the store cannot be read.
  public let dialog: DialogID?
  public let content: Content
  /// The reference to an earlier message, such as an edit or a reply.
  public let reference: ReferenceDraft?
  /// The author's id of the message.
  public let id: String?
  /// Whether it was sent by the app protocol, otherwise by XMPP.
  public let isFromApp: Bool
  /// The time at which a scheduled message is due; `nil` for others.
  public let due: Timestamp?
  /// The message that is forwarded, whose content is `content`; `nil` for others.
  public let forward: ForwardDraft?
}

extension BeforeSendQuestion {
  init(_ speech: Speech, _ content: Content, by author: Party) {
    switch speech.place {
    case .user(let address): (recipient, room, dialog) = (address, nil, speech.dialog)
    case .room(.address(let address)): (recipient, room, dialog) = (nil, address, speech.dialog)
    case .room(.dialog(let id)), .dialog(let id): (recipient, room, dialog) = (nil, nil, id)
    case .scheduled: (recipient, room, dialog) = (nil, nil, nil)
    }
    self.author = author
    self.content = content
    reference = speech.reference
    id = speech.id
    isFromApp = speech.isFromApp
    due = speech.due
    forward = speech.forward
  }
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
  /// The greatest number of concurrent questions. Further ones wait for their turn.
  public var questionsMax: Int
  /// The time for which a question waits for its turn; then its message counts as unanswered.
  public var patience: Duration
  /// The bytes of the posts that wait for answers.
  public var bytesMax: Int

  public init(
    passesUnanswered: Bool, passesEncrypted: Bool, patience: Duration,
    questionsMax: Int = Limits.beforeSendQuestionsMax, bytesMax: Int = Limits.beforeSendBytesMax
  ) {
    self.passesUnanswered = passesUnanswered
    self.passesEncrypted = passesEncrypted
    self.patience = patience
    self.questionsMax = questionsMax
    self.bytesMax = bytesMax
  }
}

/// Reads a message's XMPP elements (`Content.extras`), which the core does not read, and replaces the text in them.
public protocol ContentRewriting: Sendable {
  /// Returns the content with all the texts that one or another XMPP client shows of its elements; `nil` if there is nothing to show, as
  /// of a chat state.
  func shown(_ content: Content) -> Content?
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
