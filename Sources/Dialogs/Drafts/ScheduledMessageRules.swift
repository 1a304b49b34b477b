import Addresses
import Basics

// Scheduled messages. Theory:
//
// A scheduled message is a row of its own. Its changes are announced to the user's other sessions by an entry in the
// self dialog, of which the log contains only the last.
//
// The server sends it when it is due: one post removes the row and inserts the message, in one transaction, so that a
// crash neither repeats nor loses it. The author is authorised then, by the same rules as for any message; if refused,
// the row stays and contains the reason.
extension Judge {
  mutating func scheduledMessage(_ post: Post, _ intent: ScheduledMessageIntent) throws {
    switch intent {
    case .schedule(let draft): try schedule(post, draft)
    case .reschedule(let id, let due, let content): try reschedule(post, id, due: due, content: content)
    case .cancel(let id): try cancel(post, id)
    case .send(let id): try send(post, id)
    }
  }

  private mutating func schedule(_ post: Post, _ draft: ScheduleDraft) throws {
    let author = post.author
    try checkMember(author, of: draft.dialog)
    let id = ScheduledMessage.id(in: draft.dialog, clientID: draft.key.id)
    if let known = try writer.scheduled(id, of: author.id) {
      guard known.key == draft.key else { throw Problem.clientIDReused }
      var receipt = Receipt(position: head)
      receipt.isRepeat = true
      receipt.value = known
      return settle(post, receipt)
    }
    var scheduled = ScheduledMessage(
      id: id, author: author, dialog: draft.dialog, createdAt: time, due: draft.due, content: draft.content,
      replyTo: draft.replyTo, mentions: draft.mentions, key: draft.key)
    // It was scheduled and sent, or sent at once.
    if var receipt = try repeated(draft.key, by: author, in: draft.dialog) {
      receipt.value = scheduled
      return settle(post, receipt)
    }
    try checkDue(draft.due)
    try Self.checkMentions(draft.mentions, of: draft.content)
    if let replyTo = draft.replyTo { _ = try readable(replyTo, in: draft.dialog, by: author, field: "replyTo") }
    if try writer.scheduledCount(of: author.id) >= Limits.scheduledPerUserMax {
      throw Problem(
        .conflict, "too-many-scheduled",
        "One user has at most \(Limits.scheduledPerUserMax) scheduled messages. Take one back first.")
    }
    if let peer = try writer.dialog(draft.dialog)?.peer(of: author.id) {
      try checkBlocks(author, resource: nil, peer)
    }
    // The existence and ownership of its files is checked again on sending.
    scheduled.content = try attached(draft.content, by: author, isApp: true).content
    try change(&scheduled, .pending, by: post)
    try writer.put(scheduled)
    var receipt = Receipt(position: head)
    receipt.value = scheduled
    settle(post, receipt)
  }

  private mutating func reschedule(
    _ post: Post, _ id: Int64, due: Timestamp?, content: Content?
  ) throws {
    guard var scheduled = try writer.scheduled(id, of: post.author.id) else { throw Problem.scheduledUnknown }
    if let due {
      try checkDue(due)
      scheduled.due = due
      scheduled.failure = nil
    }
    if let content {
      // The mentioned users stay; their places belonged to the old text.
      if content.text != scheduled.content.text {
        scheduled.mentions = scheduled.mentions.map { MentionDraft(address: $0.address, begin: nil, end: nil) }
      }
      scheduled.content = try attached(content, by: post.author, isApp: true).content
    }
    try change(&scheduled, scheduled.failure == nil ? .pending : .failed, by: post)
    try writer.put(scheduled)
    var receipt = Receipt(position: head)
    receipt.value = scheduled
    settle(post, receipt)
  }

  private mutating func cancel(_ post: Post, _ id: Int64) throws {
    guard var scheduled = try writer.scheduled(id, of: post.author.id) else { throw Problem.scheduledUnknown }
    try change(&scheduled, .cancelled, by: post)
    try writer.removeScheduled(id, of: post.author.id)
    settle(post)
  }

  private func checkDue(_ due: Timestamp) throws(Problem) {
    guard time < due, !(time + Limits.scheduleMax < due) else {
      throw Problem(
        .malformed, "send-at-out-of-range",
        "sendAt must be a time to come, at most \(Limits.scheduleMax.components.seconds / 86_400) days ahead.",
        field: "sendAt")
    }
  }

  /// Sends a message, unless it has been sent, moved or cancelled since it was read as due.
  private mutating func send(_ post: Post, _ id: Int64) throws {
    guard var scheduled = try writer.scheduled(id, of: post.author.id), scheduled.failure == nil,
      !(time < scheduled.due)
    else { return settle(post) }
    var large = audienceSizes.large(.dialog(scheduled.dialog))
    do {
      if let large {
        let load = RoomLoad(load: fanOutLoad, room: large.dialog, author: scheduled.author.address)
        try checkDeliveries(of: scheduled.author, in: large.address, load)
        load.expect(large.count * max(1, scheduled.content.attachments.count))
      }
      let said = try say(scheduled)
      try change(&scheduled, .sent, message: said, by: post)
      try writer.removeScheduled(id, of: post.author.id)
    } catch let problem as Problem {
      // Thrown before anything of the message was written.
      large = nil
      if problem.kind == .tooFast, let seconds = problem.retryAfter {
        // The author is waiting in a room with slow mode, has stored as much as one may today, or has caused as many deliveries as
        // one may: it is sent later.
        scheduled.due = time + .seconds(seconds)
        try change(&scheduled, .pending, by: post)
      } else {
        scheduled.failure = ScheduledMessage.Failure(code: problem.code, text: problem.text)
        try change(&scheduled, .failed, by: post)
      }
      try writer.put(scheduled)
    }
    var receipt = Receipt(position: head)
    if let large {
      receipt.deliveries = large.count * max(1, scheduled.content.attachments.count)
      receipt.chargedRoom = sending.isUnlimited(scheduled.author, in: realms) ? nil : large.address
    }
    settle(post, receipt)
  }

  /// Refuses a message to a large room while its author or the room owes deliveries: many messages may be due at once.
  private func checkDeliveries(of author: Party, in room: BareJID, _ load: RoomLoad) throws(Problem) {
    if sending.isUnlimited(author, in: realms) { return }
    let own = sending.budget(of: author, from: nil, now: now)
    try own.take(now: now)
    try sending.budget(of: SendingAccount.room(room), now: now).checkRoom(load, by: own, now: now)
  }

  /// Sends a scheduled message by the rules of an app's message.
  private mutating func say(_ scheduled: ScheduledMessage) throws -> Position? {
    let author = scheduled.author
    guard try writer.user(author.id)?.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
    let reference = scheduled.replyTo.map { ReferenceDraft(kind: .reply, target: .entry($0)) }
    let post: Post
    if let dialog = try writer.dialog(scheduled.dialog) {
      let draft = MessageDraft(
        to: dialog.peer(of: author.id).address, content: scheduled.content,
        envelope: Envelope(type: .chat, id: scheduled.key.id),
        traits: [.counts, .archived, .replayed, .markable, .receipted, .fromApp], key: scheduled.key,
        reference: reference, mentions: scheduled.mentions)
      post = Post(author: author, intent: .message(draft), completion: .none)
      try message(post, draft)
    } else {
      let draft = RoomMessageDraft(
        content: scheduled.content, envelope: Envelope(type: .groupchat, id: scheduled.key.id),
        traits: [.counts, .archived, .markable, .fromApp], key: scheduled.key, reference: reference,
        mentions: scheduled.mentions)
      post = Post(author: author, intent: .room(.say(.dialog(scheduled.dialog), draft)), completion: .none)
      try say(post, .dialog(scheduled.dialog), draft)
    }
    return try writer.find(scheduled.key.id, by: author.id, in: scheduled.dialog)?.position
  }

  private mutating func change(
    _ scheduled: inout ScheduledMessage, _ state: ScheduledChange.State, message: Position? = nil, by post: Post
  ) throws {
    try forget(scheduled.position, of: scheduled.author)
    let change = ScheduledChange(scheduled, state: state, message: message, failure: scheduled.failure)
    let entry = try insertOwn(.scheduledMessage(change), of: scheduled.author, at: nextPosition())
    scheduled.position = entry.position
    tell(.entry(entry, author: session(of: post)))
  }
}

extension Problem {
  static let clientIDReused = Problem(
    .conflict, "client-id-reused", "This clientId was used for another message in this dialog.", field: "clientId")
  public static let scheduledUnknown = Problem(
    .missing, "scheduled-unknown", "There is no such scheduled message; it may have been sent.",
    field: "scheduledMessageId")
}
