public import Addresses

/// The message up to which a user's clients have displayed a chat, synchronized between those clients (XEP-0490).
/// Theory:
///
/// The stored state is the member's mark, which a displayed marker (XEP-0333), an app and a publication move alike, and
/// only forward. So the items of the node are a view of the marks: nothing is written for them, and a client that
/// requests them for the first time finds all of them. A mark that moves is announced as if the item had been
/// published.
///
/// Ids are opaque (XEP-0490 5.3). An id of no message in a dialog known here (private messages of rooms, other servers'
/// archives) is an ordinary item, stored unchanged until the mark of that chat moves.
public struct Displayed: Hashable, Sendable {
  /// The node's name (XEP-0490 3).
  public static let node = "urn:xmpp:mds:displayed:0"

  /// The node's configuration (XEP-0490 3.1): private, with an item per chat.
  public static let configuration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    configuration.itemsMax = nil
    configuration.sendLast = .never
    return configuration
  }()

  /// The address that assigned the stanza-id: the user's own, or the room's; empty if missing, as with some clients,
  /// though it is required.
  public let by: String
  /// The stanza-id (XEP-0359).
  public let id: String

  public init(by: String, id: String) {
    self.by = by
    self.id = id
  }

  public var byteCount: Int { by.utf8.count + id.utf8.count }
}

/// The message up to which a user has displayed a dialog or room.
public struct DisplayedMark: Hashable, Sendable {
  /// The other user, the room, or the reader's own address.
  public let chat: BareJID
  public let isRoom: Bool
  /// The id of the message.
  public let id: PublicID
  /// The position of the last change of the mark.
  public let position: Position

  public init(chat: BareJID, isRoom: Bool, id: PublicID, position: Position) {
    self.chat = chat
    self.isRoom = isRoom
    self.id = id
    self.position = position
  }
}
