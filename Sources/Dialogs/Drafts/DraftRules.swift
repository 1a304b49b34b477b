import Basics

// Drafts: rows beside the user's rows of the dialogs. A change is announced to the user's other sessions by an entry in
// the self dialog, of which the log contains only the last.
extension Judge {
  mutating func draft(
    _ post: Post, _ dialog: DialogID, _ text: String, _ replyTo: PublicID?
  ) throws {
    let user = post.author
    try checkMember(user, of: dialog)
    var target: Position?
    if let replyTo {
      target = try readable(replyTo, in: dialog, by: user, field: "replyTo").entry.position
    }
    let was = try writer.draft(of: user.id, in: dialog)
    var receipt = Receipt(position: head)
    let isNone = text.isEmpty && target == nil
    if isNone ? was == nil : was?.text == text && was?.replyTo == target {
      receipt.isRepeat = true
      receipt.value = was
      return settle(post, receipt)
    }
    if was == nil, try writer.draftCount(of: user.id) >= Limits.draftsPerUserMax {
      throw Problem(
        .conflict, "too-many-drafts", "One user has at most \(Limits.draftsPerUserMax) drafts. Remove one first.")
    }
    try forget(was?.position, of: user)
    let position = nextPosition()
    let draft = isNone ? nil : DialogDraft(text: text, replyTo: target, updatedAt: time, position: position)
    try writer.put(draft, of: user.id, in: dialog)
    receipt.entry = try insertOwn(.draft(dialog, draft), of: user, at: position)
    receipt.entry.map { tell(.entry($0, author: session(of: post))) }
    receipt.value = draft
    receipt.position = head
    settle(post, receipt)
  }

  /// Erases the entry of the previous change of a draft or scheduled message.
  mutating func forget(_ position: Position?, of user: Party) throws {
    guard let position, position > .zero else { return }
    try writer.erase(position, in: dialog(of: user, and: user).state.dialog.id)
  }

  /// Checks that a user belongs to a dialog, and so has settings of it.
  func checkMember(_ user: Party, of dialog: DialogID) throws {
    guard try writer.settings(of: user.id, in: dialog) == nil else { return }
    throw try writer.roomName(dialog) == nil ? Problem.dialogUnknown : Problem.roomUnknown
  }
}
