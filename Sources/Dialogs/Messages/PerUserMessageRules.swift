import Addresses
import Basics

/// The number of a user's rows of one kind, as it is in the committer's memory.
struct RowCount {
  var rows: Int
  let countedAt: Timestamp
}

extension Judge {
  mutating func perUser(
    _ post: Post, in dialog: DialogID, _ intent: PerUserMessageIntent
  ) throws {
    switch intent {
    case .hide(let id): try hide(post, id, in: dialog)
    case .clear(let leaves): try clear(post, dialog, leaves: leaves)
    case .star(let id, let isStarred): try star(post, id, isStarred, in: dialog)
    case .flag(let id, let reason, let text, let consent):
      try flag(post, id, reason: reason, text: text, consent, in: dialog)
    }
  }

  private mutating func note(
    _ change: PerUserMessageChange.Change, in dialog: DialogID, target: Position, by post: Post
  ) throws {
    let entry = try insertOwn(
      .perUser(PerUserMessageChange(change, in: dialog, target: target)), of: post.author, at: nextPosition())
    tell(.entry(entry, author: session(of: post)))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    settle(post, receipt)
  }

  private mutating func repeatOf(_ post: Post) {
    var receipt = Receipt(position: head)
    receipt.isRepeat = true
    settle(post, receipt)
  }

  /// Returns the known number of a user's rows, or counts them: if it is not known, or is to refuse something and is old, as rows are also
  /// removed without a post of the user. So a try that is refused reads nothing.
  private func counted(_ known: RowCount?, below bound: Int, _ count: () throws -> Int) throws -> RowCount {
    if let known, known.rows < bound || time < known.countedAt + Limits.rowCountAge { return known }
    return RowCount(rows: try count(), countedAt: time)
  }

  private mutating func hide(_ post: Post, _ id: PublicID, in dialog: DialogID) throws {
    let user = post.author
    if let position = realms.position(of: id, in: user.realm), try writer.isHidden(position, in: dialog, for: user.id) {
      return repeatOf(post)
    }
    let (entry, _) = try readable(id, in: dialog, by: user)
    var parts = 0
    var counts = false
    if case .message(let message) = entry.fact {
      parts = message.parts
      counts = message.traits.contains(.counts) && entry.author.id != user.id
    }
    let rows = try counted(hiddenCounts[user.id], below: Limits.hiddenMax - parts) {
      try writer.hiddenCount(of: user.id)
    }
    hiddenCounts[user.id] = rows
    guard rows.rows + parts < Limits.hiddenMax else {
      throw Problem(
        .tooLarge, "too-many-hidden",
        "One user deletes at most \(Limits.hiddenMax) messages for themselves. Clear the dialog instead.",
        field: "messageId")
    }
    hiddenCounts[user.id]?.rows += parts + 1
    for number in 0...parts {
      try writer.hide(entry.position + number, in: dialog, for: user.id, counts: counts && number == 0)
    }
    if counts { try uncount(entry, for: user) }
    try writer.removeMention(of: user.id, by: entry.position, in: dialog)
    try writer.setStar(false, entry.position, in: dialog, for: user.id)
    try note(.hidden, in: dialog, target: entry.position, by: post)
  }

  /// Subtracts a hidden message from the user's unread ones.
  private mutating func uncount(_ entry: Entry, for user: Party) throws {
    // Not by position: a new member has displayed nothing, and what was said before they joined counts as read.
    let number = try writer.ordinal(in: entry.dialog, upTo: entry.position)
    try changeMark(of: user, in: entry.dialog) { mark, _ in
      if number > mark.displayedOrdinal { mark.hidden += 1 }
    }
  }

  private mutating func clear(
    _ post: Post, _ dialog: DialogID, leaves: Bool
  ) throws {
    let user = post.author
    guard try writer.mark(user.id, in: dialog) != nil else {
      throw try writer.roomName(dialog) == nil ? Problem.dialogUnknown : Problem.roomUnknown
    }
    let shown = try self.shown(in: dialog, for: user)
    let last = try writer.last(of: .server(dialog, .rules), shown: shown)
    // Includes the parts of the last message, and what was shown and is erased: what is shown later is behind it.
    var end = last?.position ?? .zero
    if case .message(let message)? = last?.fact { end = end + message.parts }
    end = max(end, shown)
    try writer.clear(dialog, upTo: end, leaves: leaves, for: user.id)
    hiddenCounts[user.id] = nil
    starCounts[user.id] = nil
    if let last {
      let moved = try changeMark(of: user, in: dialog) { mark, ordinal in
        if last.position > mark.displayed { mark.displayed = last.position }
        if last.position > mark.delivered { mark.delivered = last.position }
        mark.displayedOrdinal = ordinal
        mark.ownAtDisplayed = mark.own
        mark.hidden = 0
      }
      // The user's XMPP clients show the dialog as read.
      if let moved {
        try tellDisplayed(last.id, of: moved.chat, archive: moved.isRoom ? moved.chat : user.address, by: user)
      }
    }
    try note(.cleared(leaves: leaves), in: dialog, target: last?.position ?? .zero, by: post)
  }

  /// Returns the position of the last message that was shown, which may be of this batch: the dialog's row is written at its end.
  private mutating func shown(in dialog: DialogID, for user: Party) throws -> Position {
    if let known = try writer.dialog(dialog) {
      return try self.dialog(of: user, and: known.peer(of: user.id)).state.dialog.shown
    }
    return try lookUp(.dialog(dialog), for: user)?.room.shown ?? .zero
  }

  /// Changes the user's mark. Returns its chat; `nil` if they have no mark there.
  @discardableResult
  private mutating func changeMark(
    of user: Party, in dialog: DialogID, _ change: (inout Mark, _ ordinal: Int64) -> Void
  ) throws -> (chat: BareJID, isRoom: Bool)? {
    if let known = try writer.dialog(dialog) {
      let peer = known.peer(of: user.id)
      let (state, _) = try self.dialog(of: user, and: peer)
      var mark = state.mark(of: user.id)
      change(&mark, state.dialog.ordinal)
      setMark(mark, in: state)
      return (peer.address, false)
    }
    guard let state = try lookUp(.dialog(dialog), for: user),
      var mark = try mark(of: user.id, in: state)
    else { return nil }
    change(&mark, state.room.ordinal)
    rooms.set(mark, in: state)
    return (state.room.address, true)
  }

  private mutating func star(
    _ post: Post, _ id: PublicID, _ isStarred: Bool, in dialog: DialogID
  ) throws {
    let user = post.author
    let (entry, _) = try readable(id, in: dialog, by: user)
    if isStarred, entry.state?.retraction != nil { throw Problem.messageDeleted }
    if try writer.isStarred(entry.position, by: user.id) == isStarred { return repeatOf(post) }
    if isStarred {
      let rows = try counted(starCounts[user.id], below: Limits.starsMax) { try writer.starCount(of: user.id) }
      starCounts[user.id] = rows
      guard rows.rows < Limits.starsMax else {
        throw Problem(
          .tooLarge, "too-many-stars", "One user stars at most \(Limits.starsMax) messages.", field: "messageId")
      }
    }
    starCounts[user.id]?.rows += isStarred ? 1 : -1
    try writer.setStar(isStarred, entry.position, in: dialog, for: user.id)
    try note(.starred(isStarred), in: dialog, target: entry.position, by: post)
  }

  /// Creates a report, like those that come with a block (XEP-0377), once per message.
  private mutating func flag(
    _ post: Post, _ id: PublicID, reason: String, text: String, _ consent: Report.Consent, in dialog: DialogID
  ) throws {
    let user = post.author
    let (entry, _) = try readable(id, in: dialog, by: user)
    if entry.author.id == user.id {
      throw Problem(.forbidden, "message-own", "This message is your own.", field: "messageId")
    }
    if try writer.hasFlagged(id, by: user.id, in: user.realm) { return repeatOf(post) }
    try checkReports(by: user)
    var said: String?
    if case .message(let message) = entry.fact, entry.state?.retraction == nil, message.content.kind != .encrypted {
      said = Self.cutReport(entry.state?.text ?? message.content.text)
    }
    _ = try add(
      Report(
        realm: user.realm, reporter: user.id, reported: entry.author.address.description, reason: reason,
        text: Self.cutReport(text), consent: consent,
        messages: [Report.Message(id: id.description, text: said, dialog: dialog)], createdAt: time,
        forwarding: forwarding(of: entry.author.address.domain, consent, by: user)))
    settle(post)
  }
}
