public import Addresses

/// A fact: a committed post. Immutable and shared by everyone who is told.
public final class Entry: Sendable {
  public let position: Position
  public let time: Timestamp
  public let dialog: DialogID
  /// Who wrote it; in a `self` dialog its owner.
  public let author: Party
  /// Where it was said.
  public let place: Place
  public let fact: Fact
  /// The id the wire shows: `message.id`, XEP-0359 stanza-id, MAM id.
  public let id: PublicID
  /// What became of a message since; nil: nothing, or the entry is told as it
  /// happens.
  public let state: MessageState?
  /// About a room that shows to moderators only who its people are; false also where
  /// the entry was read from the log: who needs it reads the room.
  public let isSemiAnonymous: Bool
  /// Encoded once per form, shared by all recipients.
  public let forms = FormSlot()

  public enum Place: Hashable, Sendable {
    /// The other user of a private dialog; in a `self` dialog its owner.
    case peer(Party)
    case room(RoomName)
    /// A whisper: from one occupant of a room to another, a private message (XEP-0045 7.5). `nick` is the author's,
    /// as it was then; whom they addressed they know by a nick too (`Envelope.toResource`). Neither may learn from it
    /// who the other is, so nobody finds it by the users, but by the room.
    case whisper(to: Party, in: RoomName, nick: String)
  }

  public init(
    position: Position, time: Timestamp, dialog: DialogID, author: Party, place: Place, fact: Fact,
    id: PublicID, state: MessageState? = nil, isSemiAnonymous: Bool = false
  ) {
    self.position = position
    self.time = time
    self.dialog = dialog
    self.author = author
    self.place = place
    self.fact = fact
    self.id = id
    self.state = state
    self.isSemiAnonymous = isSemiAnonymous
  }

  /// The same with another state.
  public func with(_ state: MessageState) -> Entry {
    Entry(
      position: position, time: time, dialog: dialog, author: author, place: place, fact: fact, id: id, state: state,
      isSemiAnonymous: isSemiAnonymous)
  }

  /// nil: said in a room, or whispered there.
  public var peer: Party? { if case .peer(let peer) = place { peer } else { nil } }
  /// nil: said between two users, whispered, or to oneself.
  public var room: RoomName? { if case .room(let room) = place { room } else { nil } }
  /// Where it was whispered, and the author's nick; nil: it was not.
  public var whisper: (room: RoomName, nick: String)? {
    if case .whisper(_, let room, let nick) = place { (room, nick) } else { nil }
  }
  /// Whether it is somebody else's too; false: said to oneself.
  public var isToOther: Bool {
    switch place {
    case .peer(let peer), .whisper(let peer, _, _): peer != author
    case .room: true
    }
  }
  /// Whom the author addressed.
  public var addressee: BareJID {
    switch place {
    case .peer(let peer): peer.address
    case .room(let room), .whisper(_, let room, _): room.address
    }
  }
}

/// What an entry says.
public enum Fact: Sendable {
  case message(Message)
  /// A member has received or read up to a message.
  case marker(Marker)
  /// A roster item changed (in the owner's `self` dialog).
  case contact(ContactChange)
  /// The block list changed (in the owner's `self` dialog).
  case blocks(BlockChange)
  /// The profile changed (in the owner's `self` dialog).
  case profile(Profile)
  /// A dialog came to be without a message (in both users' feeds).
  case dialogOpened
  /// What the server notes in a room.
  case room(RoomChange)
  /// Somebody was asked into a room (in the invited user's `self` dialog).
  case invitation(Invitation)
  /// An item that the user publishes changed (in the owner's `self` dialog).
  case node(NodeChange)
  /// What the user wants of a dialog changed (in the owner's `self` dialog).
  case settings(DialogSettingsChange)
  /// What the user did with messages for themselves alone (in the owner's `self` dialog).
  case personal(PersonalChange)
  /// What the user has written and not sent changed (in the owner's `self` dialog).
  case unsent(UnsentChange)
  /// A call rings, goes on or has ended.
  case call(CallChange)
  /// What the app's backend tells the user's devices (in the owner's `self` dialog, in no feed).
  case notification(AppNotification)

  /// Stored with the entry: never renumber. 1 to 9 are what people say,
  /// 10 and up what the server notes.
  public enum Kind: UInt8, Sendable {
    case message = 1
    case marker = 10
    case contact = 11
    case blocks = 12
    case profile = 13
    case dialogOpened = 14
    case room = 15
    case invitation = 16
    case node = 17
    case settings = 18
    case personal = 24
    case unsent = 25
    case call = 26
    case notification = 40
  }

  public var kind: Kind {
    switch self {
    case .message: .message
    case .marker: .marker
    case .contact: .contact
    case .blocks: .blocks
    case .profile: .profile
    case .dialogOpened: .dialogOpened
    case .room: .room
    case .invitation: .invitation
    case .node: .node
    case .settings: .settings
    case .personal: .personal
    case .unsent: .unsent
    case .call: .call
    case .notification: .notification
    }
  }
}

/// A message as it was said.
public struct Message: Sendable {
  /// Dense per dialog, from 1; 0 for entries that are not shown as messages
  /// (a bodiless stanza kept for XMPP).
  public let sequence: Int64
  public let content: Content
  public let envelope: Envelope
  public let traits: Traits
  /// What it says about an earlier message; nil: it stands for itself.
  public let reference: Reference?
  /// Whom it mentions, as it was said (`Entry.mentions`: as it is now).
  public let mentions: [Mention]
  /// Where it was said before; nil: nowhere.
  public let forwarded: Forwarded?

  /// Stored with the entry: never renumber the bits.
  public struct Traits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Makes the dialog unread.
    public static let counts = Traits(rawValue: 1)
    /// In the personal archive (XEP-0313).
    public static let archived = Traits(rawValue: 2)
    /// Replayed to a client without archive when it comes back (XEP-0160).
    public static let replayed = Traits(rawValue: 4)
    /// No carbons (XEP-0280 `<private/>`, XEP-0334 `<no-copy/>`).
    public static let uncopied = Traits(rawValue: 8)
    /// Asks for displayed markers (XEP-0333 `<markable/>`); app messages always.
    public static let markable = Traits(rawValue: 16)
    /// Asks for a receipt (XEP-0184); app messages always.
    public static let receipted = Traits(rawValue: 32)
    /// Written by the app protocol: no extras, rendered by the XMPP door.
    public static let fromApp = Traits(rawValue: 64)
    /// Deleted once delivered (XEP-0334 `<no-permanent-store/>`).
    public static let transient = Traits(rawValue: 128)
    /// Somebody calls (XEP-0353): nothing to show, and urgent.
    public static let rings = Traits(rawValue: 256)
    /// Said for XMPP alone, which has a stanza for each file of a message: apps know it as a part of that one
    /// (`Messages/Bundle.swift`).
    public static let part = Traits(rawValue: 4_096)
  }

  public init(
    sequence: Int64, content: Content, envelope: Envelope, traits: Traits, reference: Reference? = nil,
    mentions: [Mention] = [], forwarded: Forwarded? = nil
  ) {
    self.forwarded = forwarded
    self.sequence = sequence
    self.content = content
    self.envelope = envelope
    self.traits = traits
    self.reference = reference
    self.mentions = mentions
  }
}

/// "Up to here", by one member of one dialog.
public struct Marker: Sendable {
  public enum Kind: UInt8, Sendable {
    case delivered = 1
    case displayed = 2

    /// What apps call it, for refusals.
    public var field: String { self == .delivered ? "delivered" : "read" }
  }
  public let kind: Kind
  /// The member's marks after this one.
  public let mark: Mark
  /// The message that was marked: its position, public id, and the stanza id its
  /// author gave it (what XEP-0184 and XEP-0333 in private dialogs refer to).
  public let target: Position
  public let targetID: PublicID
  public let targetStanzaID: String?
  /// The stanza that carried it, when XMPP did and it is to be relayed or
  /// archived as it came; nil: a door renders one.
  public let stanza: Message?
  /// Whether the other side is told at all: false for a private read.
  public let told: Bool
  /// Whether XMPP clients of the other side are told, where no stanza says it:
  /// the message asked for it and its author may see the reader's presence.
  public let asked: Bool

  public init(
    kind: Kind, mark: Mark, target: Position, targetID: PublicID, targetStanzaID: String?, stanza: Message?,
    told: Bool, asked: Bool
  ) {
    self.kind = kind
    self.mark = mark
    self.target = target
    self.targetID = targetID
    self.targetStanzaID = targetStanzaID
    self.stanza = stanza
    self.told = told
    self.asked = asked
  }
}

/// One member's row in one dialog. Unread = dialog.ordinal - displayedOrdinal -
/// (own - ownAtDisplayed) - hidden: own messages never count, nor what the member has deleted for themselves.
public struct Mark: Hashable, Sendable {
  public let dialog: DialogID
  public let user: UserID
  /// The last message known to have reached a device of the member.
  public var delivered: Position
  /// The last message the member has read.
  public var displayed: Position
  /// `dialog.ordinal` as it was just after the displayed message.
  public var displayedOrdinal: Int64
  /// How many counting messages the member has written.
  public var own: Int64
  /// How many of those stand at or before the displayed message.
  public var ownAtDisplayed: Int64
  /// The log position of the last change of `delivered` or `displayed`.
  public var position: Position
  /// How many counting messages of others behind the displayed one the member has deleted for themselves.
  public var hidden: Int64

  public init(
    dialog: DialogID, user: UserID, delivered: Position = .zero, displayed: Position = .zero,
    displayedOrdinal: Int64 = 0, own: Int64 = 0, ownAtDisplayed: Int64 = 0, position: Position = .zero,
    hidden: Int64 = 0
  ) {
    self.hidden = hidden
    self.dialog = dialog
    self.user = user
    self.delivered = delivered
    self.displayed = displayed
    self.displayedOrdinal = displayedOrdinal
    self.own = own
    self.ownAtDisplayed = ownAtDisplayed
    self.position = position
  }

  public func unread(ordinal: Int64) -> Int64 {
    max(0, (ordinal - displayedOrdinal) - (own - ownAtDisplayed) - hidden)
  }
}

/// The block list after a change, and what the change was (XEP-0191).
public struct BlockChange: Sendable {
  public enum Act: UInt8, Sendable { case block = 1, unblock = 2 }
  public let act: Act
  /// What was added or taken away; for "unblock all" everything there was.
  public let patterns: [BlockPattern]
  public init(act: Act, patterns: [BlockPattern]) {
    self.act = act
    self.patterns = patterns
  }
}

/// A dialog of two as stored: private, `self`, or what two occupants of a room
/// whisper. `first` < `second` by number; in a `self` dialog they are the same user.
public struct Dialog: Hashable, Sendable {
  /// Stored: never renumber; 2 is a room. `whispered` is in no list of dialogs, has
  /// no marks, and is found by pair and room only.
  public enum Kind: UInt8, Sendable { case own = 0, privately = 1, whispered = 3 }
  public let id: DialogID
  public let kind: Kind
  public let first: Party
  public let second: Party
  /// The last message's sequence; messages only, dense.
  public var sequence: Int64
  /// How many entries so far made the dialog unread.
  public var ordinal: Int64
  /// Position of the last entry of any kind.
  public var last: Position
  public let createdAt: Timestamp

  public init(
    id: DialogID, kind: Kind, first: Party, second: Party, sequence: Int64 = 0, ordinal: Int64 = 0,
    last: Position = .zero, createdAt: Timestamp
  ) {
    self.id = id
    self.kind = kind
    self.first = first
    self.second = second
    self.sequence = sequence
    self.ordinal = ordinal
    self.last = last
    self.createdAt = createdAt
  }

  public func peer(of user: UserID) -> Party { first.id == user ? second : first }
  public func has(_ user: UserID) -> Bool { first.id == user || second.id == user }
}

/// A dialog as one member sees it in a list.
public struct DialogView: Sendable {
  public let dialog: Dialog
  public let mark: Mark
  public let settings: DialogSettings
  /// The last message that is shown; nil in an empty dialog.
  public let lastMessage: Entry?
  public init(dialog: Dialog, mark: Mark, settings: DialogSettings = DialogSettings(), lastMessage: Entry?) {
    self.dialog = dialog
    self.mark = mark
    self.settings = settings
    self.lastMessage = lastMessage
  }
}
