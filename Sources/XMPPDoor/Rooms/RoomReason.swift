import Dialogs
import XMLStream

/// The reason of a kick, a ban, an invitation: passed on as it is, never longer than `Limits.reasonBytesMax`.
enum RoomReason {
  /// Returns the text of a child; `nil` if there is none or it is empty.
  static func read(_ name: Name, of element: Element) -> String? {
    guard let text = element.first(name)?.text, !text.isEmpty else { return nil }
    return cut(text)
  }

  /// Returns the text cut to the bound, never within a character's bytes.
  static func cut(_ text: String) -> String {
    let bytes = text.utf8
    guard bytes.count > Limits.reasonBytesMax else { return text }
    var end = bytes.index(bytes.startIndex, offsetBy: Limits.reasonBytesMax)
    while end > bytes.startIndex, UTF8.isContinuation(bytes[end]) { end = bytes.index(before: end) }
    return String(text[..<end])
  }

  /// Writes `<reason/>` into an open element of its namespace.
  static func write(_ reason: String?, into writer: inout ElementWriter) {
    guard let reason else { return }
    writer.element("reason") { $0.text(reason) }
  }
}
