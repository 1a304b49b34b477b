import Basics
public import Dialogs

extension Accounts {
  /// Replaces the operators' note on a user; an empty text removes it.
  ///
  /// - Throws: `.tooLarge`.
  public func setNote(_ text: String, on user: Party) async throws(Problem) {
    guard text.utf8.count <= Limits.userNoteBytesMax else {
      throw Problem(.tooLarge, "note-too-long", "A note has at most \(Limits.userNoteBytesMax) bytes.", field: "text")
    }
    let note = UserNote(user: user.id, text: text, changedAt: parley.clock.now)
    try await parley.work(keepingCaches: true) { writer in
      if text.isEmpty { try writer.remove(note) } else { try writer.put(note) }
    }
  }
}
