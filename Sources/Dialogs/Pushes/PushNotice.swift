import Basics
import Crypto

/// What one device is told of one dialog, or of one call: everything that any provider may pass on. How much of it is said is the
/// operator's choice (`PushContent`), and no concern of this value.
public struct PushNotice: Hashable, Sendable {
  public enum Kind: String, Sendable {
    case message
    /// To be known and not shown.
    case silent
    case call
    case callEnd
    /// What the app's backend has to say.
    case notification
  }
  public let kind: Kind
  /// Whose account.
  public let user: String
  public let dialog: PublicID
  /// The last message; of a call, and of its end: the call's id.
  public let message: PublicID
  /// Where the log stands with it: whoever has come so far has all of it.
  public let cursor: String
  public let position: Position
  /// How many messages of this dialog it stands for.
  public let count: Int
  /// The user's unread messages in all dialogs.
  public let unread: Int64
  public let content: Content.Kind
  /// What is said, as it stands now; empty where there is nothing to show.
  public let text: String
  /// nil: whom the user may not know by it.
  public let senderID: String?
  public let senderName: String
  /// nil: said between two.
  public let dialogName: String?
  /// Of a call, and of its end: what the caller wants to send.
  public var call: Call.Kind?
  /// What the app's backend says; of a dialog and a message then nothing else counts.
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

  /// The same for the same dialog and account: what comes later takes the place of what is still shown or on its way. Says
  /// nothing to whoever passes it on. 24 bytes; of a call, its end takes the place of its beginning.
  public var collapse: [UInt8] {
    let place =
      switch kind {
      case .call, .callEnd: "call \(message)"
      case .notification: "notification \(message)"
      case .message, .silent: "dialog \(dialog)"
      }
    return Array(SHA256.hash(data: Array("\(user) \(place)".utf8)).prefix(24))
  }

  /// Whether something is to be seen or heard; else the app alone is woken.
  public var isShown: Bool {
    switch kind {
    case .message, .call: true
    case .silent, .callEnd: false
    case .notification: notification?.body != nil
    }
  }

  /// The same for the same push, also when it is repeated: RFC 9562 5.8, of the device and what it is told.
  public func id(for device: PushDevice) -> String {
    let hash = SHA256.hash(data: Array("\(user) \(device.id) \(kind) \(dialog) \(position)".utf8))
    return Hex.uuid(Array(hash.prefix(16)), version: 8)
  }
}
