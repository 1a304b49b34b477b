public import Addresses

/// Up to which message a user's clients have displayed a chat, as those clients
/// tell each other (XEP-0490). Theory:
///
/// What the server knows of it is the member's mark, which a displayed marker
/// (XEP-0333), an app and a publication move alike, and only forward. So the items
/// of the node are a view of the marks: nothing is written for them, and a client
/// that asks for the first time finds all there is. A mark that moves is told as
/// if the item had been published.
///
/// Ids are opaque (XEP-0490 5.3). What names no message of a dialog that is known
/// here (private messages of rooms, other servers' archives) is an item like any
/// other, kept as it came until the mark of that chat moves on.
public struct Displayed: Hashable, Sendable {
  /// The node's name (XEP-0490 3).
  public static let node = "urn:xmpp:mds:displayed:0"

  /// XEP-0490 3.1: private, and an item per chat.
  public static let configuration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    configuration.itemsMax = nil
    configuration.sendLast = .never
    return configuration
  }()

  /// Whose stanza-id it is: the user's own address, or the room's; empty: not said, as by some clients, though it must be.
  public let by: String
  /// The stanza-id (XEP-0359).
  public let id: String

  public init(by: String, id: String) {
    self.by = by
    self.id = id
  }

  public var byteCount: Int { by.utf8.count + id.utf8.count }
}

/// How far somebody has displayed one dialog or room.
public struct DisplayedMark: Hashable, Sendable {
  /// The other user, the room, or the reader themself.
  public let chat: BareJID
  public let isRoom: Bool
  /// The message.
  public let id: PublicID
  /// Of the last change of the mark.
  public let position: Position

  public init(chat: BareJID, isRoom: Bool, id: PublicID, position: Position) {
    self.chat = chat
    self.isRoom = isRoom
    self.id = id
    self.position = position
  }
}
