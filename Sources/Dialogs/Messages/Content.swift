/// The content of a message, typed as in the app protocol, beside its XMPP elements.
///
/// `extras` contains the message's XMPP children (body included), each complete with its namespace, exactly as a door
/// will write them again: nothing sent by XMPP is lost, and the core does not read it. An app's message has no extras;
/// the XMPP door renders it from the typed part.
public struct Content: Hashable, Sendable {
  /// Raw values are stored: never renumber.
  public enum Kind: UInt8, Sendable {
    case none = 0  // nothing to show: a bodiless stanza kept for XMPP
    case text = 1
    case encrypted = 2
    case custom = 3
    case location = 4
    case contact = 5
    case sticker = 6
    case image = 7
    case video = 8
    case audio = 9
    case file = 10
    case system = 11
    case call = 12
    /// An invitation that a room elsewhere sends: apps are shown an event, and no message.
    case invitation = 13
  }

  public var kind: Kind
  /// The text to show; for kinds that a client does not know, the fallback.
  public var text: String
  /// The kind's own fields as a JSON object, as the app wrote them; `nil` if there are none.
  public var fields: String?
  public var extras: [UInt8]
  /// The files. Apps are shown them if `kind` is that of a file.
  public var attachments: [Attachment]

  public init(
    kind: Kind, text: String = "", fields: String? = nil, extras: [UInt8] = [], attachments: [Attachment] = []
  ) {
    self.kind = kind
    self.text = text
    self.fields = fields
    self.extras = extras
    self.attachments = attachments
  }

  /// Returns whether a text is free of the control characters that XML 1.0 2.2 excludes: XMPP clients receive it as
  /// well.
  package static func isText(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value & 0xfffe != 0xfffe || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }
  }
}

/// The attributes of a stanza as its author wrote it. An entry stores them, so that the archive returns the original
/// and replies find their target.
public struct Envelope: Hashable, Sendable {
  /// Raw values are stored: never renumber.
  public enum MessageType: UInt8, Sendable {
    case normal = 0, chat = 1, groupchat = 2, headline = 3, error = 4
  }
  public var type: MessageType
  /// The author's resource; for an app session `app-<deviceId>`; `nil` for the bare address.
  public var fromResource: String?
  /// The addressed resource; `nil` for the bare address.
  public var toResource: String?
  /// The stanza's `id`, or the app's `clientId`.
  public var id: String?
  public var language: String?

  public init(
    type: MessageType = .chat, fromResource: String? = nil, toResource: String? = nil,
    id: String? = nil, language: String? = nil
  ) {
    self.type = type
    self.fromResource = fromResource
    self.toResource = toResource
    self.id = id
    self.language = language
  }

  /// Returns a stanza's id as other messages and their states repeat it; `nil` if it is longer than
  /// `Limits.stanzaIDBytesMax`. Then they name the message by its public id.
  static func kept(_ id: String?) -> String? { id.flatMap { $0.utf8.count <= Limits.stanzaIDBytesMax ? $0 : nil } }
}
