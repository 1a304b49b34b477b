import Addresses
import Dialogs

/// The texts of a notification, as far as the operator allows them: keys of the app's own texts, so that a phone uses
/// its owner's language, and texts that people have written.
public struct PushTexts: Hashable, Sendable {
  public enum Phrase: Hashable, Sendable {
    /// The key of a text of the app, with its arguments.
    case key(String, [String] = [])
    /// A text as it was written.
    case text(String)

    init(_ phrase: AppNotification.Phrase) {
      switch phrase {
      case .text(let text): self = .text(text)
      case .key(let key, let args): self = .key(key, args)
      }
    }
  }

  public var title: Phrase?
  /// The body; `nil` if nothing is shown.
  public var body: Phrase?
  /// Whether the sender may be named.
  public let namesSender: Bool

  public init(_ notice: PushNotice, _ content: PushContent) {
    namesSender = content != .none
    switch notice.kind {
    case .silent, .callEnd: return
    case .notification:
      // The backend's own text may be shown, as it was written; it contains no other user's content.
      title = notice.notification?.title.map(Phrase.init)
      body = notice.notification?.body.map(Phrase.init)
      return
    case .call: body = .key("parley_call")
    case .message: body = Self.body(of: notice, content)
    }
    guard content != .none, !notice.senderName.isEmpty else { return }
    let name = Self.prefix(notice.senderName, bytes: PushLimits.nameBytesMax)
    if let dialog = notice.dialogName {
      title = .key("parley_from_in", [name, Self.prefix(dialog, bytes: PushLimits.nameBytesMax)])
    } else {
      title = .key("parley_from", [name])
    }
  }

  private static func body(of notice: PushNotice, _ content: PushContent) -> Phrase {
    if content == .none {
      return notice.count > 1 ? .key("parley_messages", ["\(notice.count)"]) : .key("parley_message")
    }
    switch notice.content {
    case .encrypted: return .key("parley_encrypted")
    case .image: return .key("parley_image")
    case .video: return .key("parley_video")
    case .audio: return .key("parley_audio")
    case .file: return .key("parley_file")
    case .location: return .key("parley_location")
    case .contact: return .key("parley_contact")
    case .sticker: return .key("parley_sticker")
    // Only missed calls make a dialog unread.
    case .call: return .key("parley_missed_call")
    case .none, .text, .custom, .system, .invitation:
      let text = content == .body ? ShownText.text(notice.text) : ""
      return text.isEmpty ? .key("parley_message") : .text(prefix(text, bytes: PushLimits.textBytesMax))
    }
  }

  /// Returns the whole characters of a text that fit in this many bytes. Names are shorter here than where else they are
  /// shown, since providers bound a notification.
  static func prefix(_ text: String, bytes: Int) -> String {
    if text.utf8.count <= bytes { return text }
    var end = text.startIndex
    var left = bytes
    for index in text.indices {
      let count = text[index].utf8.count
      if count > left { break }
      left -= count
      end = text.index(after: index)
    }
    return String(text[..<end])
  }

  /// Returns the words with a text of at most this many bytes.
  private func shortened(to bytes: Int) -> PushTexts {
    var words = self
    if case .text(let text)? = body {
      let kept = Self.prefix(text, bytes: bytes)
      words.body = kept.isEmpty ? .key("parley_message") : .text(kept)
    }
    return words
  }

  /// Writes these words with as much of the text as fits in this many bytes.
  func fitting(_ bytesMax: Int, _ write: (PushTexts) -> [UInt8]) -> [UInt8] {
    var length = PushLimits.textBytesMax
    while true {
      let bytes = write(shortened(to: length))
      if bytes.count <= bytesMax || length == 0 { return bytes }
      // Escaping makes a text up to six times as long.
      length /= 2
    }
  }
}
