import Addresses
import Dialogs

/// Renders scheduled messages.
extension Rendering {
  /// Returns a scheduled message.
  ///
  /// - Parameter message: the message that it became.
  func scheduled(_ scheduled: ScheduledMessage, message: Entry? = nil) -> ScheduledMessageBody {
    // An app can only have scheduled kinds that it can send.
    let (content, metadata) =
      self.content(scheduled.content, nil)
      ?? (ContentBody(type: ContentBody.Kind.text.rawValue, text: scheduled.content.text), nil)
    let domain = scheduled.author.address.domain
    let mentions = scheduled.mentions.map { mention in
      MentionBody(
        userId: mention.address.isBare ? userID(mention.address.bare, domain: domain) : mention.address.description,
        begin: mention.begin, end: mention.end)
    }
    return ScheduledMessageBody(
      id: Self.scheduledID(scheduled.id), dialogId: id(scheduled.dialog), clientId: scheduled.key.id,
      sendAt: scheduled.due, createdAt: scheduled.createdAt,
      state: message != nil ? .sent : scheduled.failure != nil ? .failed : .pending, content: content,
      metadata: metadata, replyTo: scheduled.replyTo?.description, mentions: mentions.isEmpty ? nil : mentions,
      messageId: message?.id.description, code: scheduled.failure?.code, detail: scheduled.failure?.text)
  }

  func scheduled(_ change: ScheduledChange) -> ScheduledUpdatedBody {
    ScheduledUpdatedBody(
      scheduledMessageId: Self.scheduledID(change.id), dialogId: id(change.dialog), sendAt: change.due,
      state: change.state.wire, messageId: change.message.flatMap { id($0) }, code: change.failure?.code,
      detail: change.failure?.text)
  }

  static func scheduledID(_ id: Int64) -> String { String(id, radix: 16) }

  /// Parses an id. Throws for an invalid one.
  static func scheduled(_ id: String) throws(Problem) -> Int64 {
    guard let number = Int64(id, radix: 16), scheduledID(number) == id else { throw Problem.scheduledUnknown }
    return number
  }
}

extension ScheduledChange.State {
  var wire: ScheduledMessageBody.State {
    switch self {
    case .pending: .pending
    case .failed: .failed
    case .sent: .sent
    case .cancelled: .cancelled
    }
  }
}
