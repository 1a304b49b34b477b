import Basics
import Crypto
public import Dialogs

/// The notice of one dialog, or of one call, to a device: everything that any provider may pass on. The operator
/// decides how much of it is sent (`PushContent`), outside of this value.
public struct PushNotice: Hashable, Sendable {
  public enum Kind: String, Sendable {
    case message
    /// Known to the app, but not shown.
    case silent
    case call
    case callEnd
    /// A notification of the app's backend.
    case notification
  }
  public let kind: Kind
  /// The user's name.
  public let user: String
  public let dialog: PublicID
  /// The id of the last message; for a call, and its end, the call's id.
  public let message: PublicID
  /// The cursor behind the message: a client that has it has the message.
  public let cursor: String
  public let position: Position
  /// The number of messages of this dialog.
  public let count: Int
  /// The user's unread messages in all dialogs.
  public let unread: Int64
  public let content: Content.Kind
  /// The current text; empty if there is nothing to show.
  public let text: String
  /// The sender's id; `nil` if the user may not know it.
  public let senderID: String?
  /// The sender's name as it is shown (`ShownText`). Nobody is marked as an imitator: the app marks whom it shows beside
  /// others.
  public let senderName: String
  /// The name of the room, as it is shown; `nil` for a private dialog.
  public let dialogName: String?
  /// For a call, and its end, the media that the caller wants to send.
  public var call: Call.Kind?
  /// The backend's notification; then the fields of dialog and message are meaningless.
  public let notification: AppNotification?

  public init(
    kind: Kind, user: String, dialog: PublicID, message: PublicID, cursor: String, position: Position, count: Int,
    unread: Int64, content: Content.Kind, text: String, senderID: String?, senderName: String, dialogName: String?,
    notification: AppNotification? = nil
  ) {
    self.notification = notification
    self.kind = kind
    self.user = user
    self.dialog = dialog
    self.message = message
    self.cursor = cursor
    self.position = position
    self.count = count
    self.unread = unread
    self.content = content
    self.text = text
    self.senderID = senderID
    self.senderName = senderName
    self.dialogName = dialogName
  }

  /// The collapse key, the same for the same dialog and account: a later notice replaces one that is shown or on its
  /// way. It is opaque to providers; 24 bytes. The end of a call replaces its beginning.
  public var collapse: [UInt8] {
    let place =
      switch kind {
      case .call, .callEnd: "call \(message)"
      case .notification: "notification \(message)"
      case .message, .silent: "dialog \(dialog)"
      }
    return Array(SHA256.hash(data: Array("\(user) \(place)".utf8)).prefix(24))
  }

  /// Whether something is shown or heard; otherwise only the app is woken.
  public var isShown: Bool {
    switch kind {
    case .message, .call: true
    case .silent, .callEnd: false
    case .notification: notification?.body != nil
    }
  }

  /// Returns the id, the same for a repeated push: a UUID (RFC 9562 5.8) of the device and the notice.
  public func id(for device: PushDevice) -> String {
    let hash = SHA256.hash(data: Array("\(user) \(device.id) \(kind) \(dialog) \(position)".utf8))
    return Hex.uuid(Array(hash.prefix(16)), version: 8)
  }
}
