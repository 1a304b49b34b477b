import Addresses
import Dialogs
import XMLStream

/// The names in a vCard of either version: reads them, and writes them where the profile's names differ from those of
/// the stored vCard.
struct CardNames: Sendable {
  let fullName: Name
  let nickname: Name
  /// The element inside the field that holds the text; `nil` if the field itself does (XEP-0054).
  let text: Name?

  // MARK: Read

  func fullName(_ vCard: Element) -> String? { first(fullName, in: vCard) }

  /// Returns the display name: the nickname, else the full name.
  func displayName(_ vCard: Element) -> String? {
    first(nickname, in: vCard) ?? first(fullName, in: vCard)
  }

  /// Returns the text of a field, cut to the size that a profile holds.
  private func first(_ field: Name, in vCard: Element) -> String? {
    guard let element = vCard.first(field) else { return nil }
    let text = text.map { element.first($0)?.text ?? "" } ?? element.text
    return Self.cut(text)
  }

  /// Returns the text cut to size; `nil` if nothing of it is visible.
  static func cut(_ text: String) -> String? {
    if text.showsNothing { return nil }
    var name = text
    while name.utf8.count > Limits.displayNameBytesMax { name.removeLast() }
    return name
  }

  // MARK: Written

  /// Writes the names that differ from the stored vCard.
  ///
  /// - Returns: which children of `kept` these replace.
  func write(
    _ displayName: String?, fullName full: String?, kept: Element?, into writer: inout ElementWriter
  ) -> (Element) -> Bool {
    let shown = full ?? displayName
    let keptNickname = kept.flatMap { first(nickname, in: $0) }
    let keepsFull = kept.flatMap { first(fullName, in: $0) } == shown
    // If the full name is the display name, nicknames stand beside it.
    let keepsNickname = keptNickname == displayName || full == nil && keepsFull
    if !keepsFull, let shown { write(shown, as: fullName, into: &writer) }
    if !keepsNickname, let displayName, displayName != shown { write(displayName, as: nickname, into: &writer) }
    return { $0.is(fullName) && !keepsFull || $0.is(nickname) && !keepsNickname }
  }

  private func write(_ name: String, as field: Name, into writer: inout ElementWriter) {
    writer.element(field) { writer in
      if let text { writer.open(text) }
      writer.text(name)
      if text != nil { writer.close() }
    }
  }
}
