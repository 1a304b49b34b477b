public import Addresses
public import Basics

/// A committed post: an immutable fact, shared by all recipients.
public final class Entry: Sendable {
  public let position: Position
  public let time: Timestamp
  public let dialog: DialogID
  /// The author; in a `self` dialog its owner.
  public let author: Party
  /// The user or room of the dialog.
  public let place: Place
  public let fact: Fact
  /// The public id: `message.id` of the app protocol, XEP-0359 stanza-id, MAM id.
  public let id: PublicID
  /// The later changes of the message; `nil` if there are none, or for a live entry.
  public let state: MessageState?
  /// Whether it belongs to a semi-anonymous room. Always `false` for an entry that was read from the log: then the room
  /// must be read.
  public let isSemiAnonymous: Bool
  /// The encoded forms, each shared by all recipients.
  public let forms = FormSlot()

  public enum Place: Hashable, Sendable {
    /// The other user of a private dialog; in a `self` dialog its owner.
    case peer(Party)
    case room(RoomName)
    /// A private message from one occupant of a room to another (XEP-0045 7.5). `nick` is the author's at that time; the
    /// author knows the other by a nick as well (`Envelope.toResource`). Neither may learn the other's identity, so it can
    /// only be found by the room, not by the users.
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

  /// Returns the same entry with another state.
  public func with(_ state: MessageState) -> Entry {
    Entry(
      position: position, time: time, dialog: dialog, author: author, place: place, fact: fact, id: id, state: state,
      isSemiAnonymous: isSemiAnonymous)
  }

  /// The other user of a private dialog; `nil` in a room.
  public var peer: Party? { if case .peer(let peer) = place { peer } else { nil } }
  /// The room; `nil` in a private dialog, and for private messages of a room.
  public var room: RoomName? { if case .room(let room) = place { room } else { nil } }
  /// The room and the author's nick of a private message there; `nil` for other entries.
  public var whisper: (room: RoomName, nick: String)? {
    if case .whisper(_, let room, let nick) = place { (room, nick) } else { nil }
  }
  /// The estimated bytes of the users' content in it, in memory and in an answer.
  public var byteCount: Int {
    guard let message = fact.stanza else { return Limits.entryBytes }
    let (content, envelope) = (message.content, message.envelope)
    // XMPP ids and languages have no separate bound.
    var bytes = Limits.entryBytes + (envelope.id?.utf8.count ?? 0) + (envelope.language?.utf8.count ?? 0)
    bytes += content.extras.count + content.text.utf8.count + (content.fields?.utf8.count ?? 0)
    for file in content.attachments { bytes += file.url.utf8.count + (file.name?.utf8.count ?? 0) }
    guard let state else { return bytes }
    return bytes + (state.text?.utf8.count ?? 0) + state.reactionBytes
  }
  /// Whether another user may see it too; `false` for a message to oneself.
  public var isToOther: Bool {
    switch place {
    case .peer(let peer), .whisper(let peer, _, _): peer != author
    case .room: true
    }
  }
  /// The address that the author wrote to.
  public var addressee: BareJID {
    switch place {
    case .peer(let peer): peer.address
    case .room(let room), .whisper(_, let room, _): room.address
    }
  }
}

extension [Entry] {
  public var byteCount: Int { reduce(0) { $0 + $1.byteCount } }

  /// Returns whether more may follow this page, which was read with these bounds.
  public func isFull(_ limit: Int, bytesMax: Int = Limits.pageBytesMax) -> Bool {
    count >= limit || byteCount >= bytesMax
  }
}

/// The content of an entry.
public enum Fact: Sendable {
  case message(Message)
  /// A member's mark of the messages received or read.
  case marker(Marker)
  /// A changed roster item (in the owner's `self` dialog).
  case contact(ContactChange)
  /// A changed contact group (in the `self` dialog of one of its members, and in the feeds of all).
  case contactGroup(ContactGroupChange)
  /// A changed block list (in the owner's `self` dialog).
  case blocks(BlockChange)
  /// A changed profile (in the owner's `self` dialog).
  case profile(Profile)
  /// A dialog that was created without a message (in both users' feeds).
  case dialogOpened
  /// A notice of the server in a room.
  case room(RoomChange)
  /// An invitation to a room (in the invited user's `self` dialog).
  case invitation(Invitation)
  /// A changed item of a node (in the owner's `self` dialog).
  case node(NodeChange)
  /// Changed settings of a dialog (in the owner's `self` dialog).
  case settings(DialogSettingsChange)
  /// A change of messages for the user alone (in the owner's `self` dialog).
  case perUser(PerUserMessageChange)
  /// A changed draft (in the owner's `self` dialog); `nil` if it was removed.
  case draft(DialogID, DialogDraft?)
  /// A changed scheduled message (in the owner's `self` dialog).
  case scheduledMessage(ScheduledChange)
  /// A change of a call.
  case call(CallChange)
  /// A notification of the app's backend for the user's devices (in the owner's `self` dialog, in no feed).
  case notification(AppNotification)
  /// A message that a remote user did not get (in its author's `self` dialog).
  case undelivered(Undelivered)

  /// The stored kind of an entry: never renumber. 1 to 9 are written by users, 10 and up by the server.
  public enum Kind: UInt8, Sendable, CaseIterable {
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
    case perUser = 24
    /// A draft or a scheduled message.
    case draftOrScheduled = 25
    case call = 26
    case undelivered = 27
    case contactGroup = 28
    case notification = 40

    /// Whether the entry belongs to a conversation, where everybody sees its time. All other entries change settings: only
    /// their order counts, and their time may be set back for history that is imported after them (`Judge.makeWay`).
    public var isOfConversation: Bool {
      switch self {
      case .message, .marker, .room, .invitation, .call, .undelivered: true
      case .contact, .blocks, .profile, .dialogOpened, .node, .settings, .perUser, .draftOrScheduled, .contactGroup,
        .notification:
        false
      }
    }
  }

  public var kind: Kind {
    switch self {
    case .message: .message
    case .marker: .marker
    case .contact: .contact
    case .contactGroup: .contactGroup
    case .blocks: .blocks
    case .profile: .profile
    case .dialogOpened: .dialogOpened
    case .room: .room
    case .invitation: .invitation
    case .node: .node
    case .settings: .settings
    case .perUser: .perUser
    case .draft, .scheduledMessage: .draftOrScheduled
    case .call: .call
    case .notification: .notification
    case .undelivered: .undelivered
    }
  }
}

extension Fact {
  /// The message as XMPP sent it: a message itself, or the stanza that a marker, a topic or a call came with; `nil` if
  /// there is none.
  public var stanza: Message? {
    switch self {
    case .message(let message): message
    case .marker(let marker): marker.stanza
    case .room(let change): change.stanza
    case .call(let change): change.message
    case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser, .draft,
      .scheduledMessage, .notification, .undelivered:
      nil
    }
  }

  /// Whether it is shown among the messages of its dialog.
  public var isShown: Bool {
    switch self {
    case .message(let message): message.sequence > 0
    case .room(let change): change.sequence > 0
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser,
      .draft, .scheduledMessage, .call, .notification, .undelivered:
      false
    }
  }

  /// Whether it counts as unread.
  public var counts: Bool { if case .message(let message) = self { message.traits.contains(.counts) } else { false } }
}

/// A message as it was sent.
public struct Message: Sendable {
  /// The number among the dialog's messages, from 1 without gaps; 0 for entries that are not shown as messages (a
  /// bodiless stanza kept for XMPP).
  public let sequence: Int64
  public let content: Content
  public let envelope: Envelope
  public let traits: Traits
  /// The reference to an earlier message; `nil` if there is none.
  public let reference: Reference?
  /// The mentions as the message was sent (`Entry.mentions` has the current ones).
  public let mentions: [Mention]
  /// The original of a forwarded message; `nil` for others.
  public let forwarded: Forwarded?

  /// The stored traits: never renumber the bits.
  public struct Traits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Counts as unread.
    public static let counts = Traits(rawValue: 1)
    /// In the personal archive (XEP-0313).
    public static let archived = Traits(rawValue: 2)
    /// Replayed to a client without archive when it reconnects (XEP-0160).
    public static let replayed = Traits(rawValue: 4)
    /// Excluded from carbons (XEP-0280 `<private/>`, XEP-0334 `<no-copy/>`).
    public static let uncopied = Traits(rawValue: 8)
    /// Requests displayed markers (XEP-0333 `<markable/>`); app messages always do.
    public static let markable = Traits(rawValue: 16)
    /// Requests a receipt (XEP-0184); app messages always do.
    public static let receipted = Traits(rawValue: 32)
    /// Sent by the app protocol: it has no extras, and the XMPP door renders it.
    public static let fromApp = Traits(rawValue: 64)
    /// Deleted once delivered (XEP-0334 `<no-permanent-store/>`).
    public static let transient = Traits(rawValue: 128)
    /// Rings a call (XEP-0353): it has no visible content, and is urgent.
    public static let rings = Traits(rawValue: 256)
    /// Written for XMPP alone, which has a stanza for each file of a message: apps see it as a part of that message
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

/// A mark up to a message, by one member of one dialog.
public struct Marker: Sendable {
  public enum Kind: UInt8, Sendable {
    case delivered = 1
    case displayed = 2

    /// The app protocol's field, for refusals.
    public var field: String { self == .delivered ? "delivered" : "read" }
  }
  public let kind: Kind
  /// The member's marks after this one.
  public let mark: Mark
  /// The marked message: its position, public id, and its author's stanza id (to which XEP-0184 and XEP-0333 refer in
  /// private dialogs).
  public let target: Position
  public let targetID: PublicID
  public let targetStanzaID: String?
  /// The stanza of an XMPP client, if it is to be relayed or archived unchanged; `nil` if a door renders one.
  public let stanza: Message?
  /// Whether the other user is notified; `false` for a private marker.
  public let told: Bool
  /// Whether XMPP clients of the other user are notified, if there is no stanza: the message requested a marker, and its
  /// author may see the reader's presence.
  public let asked: Bool
  /// Whether a marker of delivery follows a private reading: the others are notified only of the delivery.
  public let hidesRead: Bool
  /// The member's marks as others see them.
  public var shownMark: Mark {
    var shown = mark
    if hidesRead { shown.displayed = .zero }
    return shown
  }

  public init(
    kind: Kind, mark: Mark, target: Position, targetID: PublicID, targetStanzaID: String?, stanza: Message?,
    told: Bool, asked: Bool, hidesRead: Bool = false
  ) {
    self.kind = kind
    self.mark = mark
    self.target = target
    self.targetID = targetID
    self.targetStanzaID = targetStanzaID
    self.stanza = stanza
    self.told = told
    self.asked = asked
    self.hidesRead = hidesRead
  }
}

/// A member's row of a dialog. Unread = dialog.ordinal - displayedOrdinal - (own - ownAtDisplayed) - hidden - retracted:
/// own messages do not count, nor do those that were deleted for the member or for everyone.
public struct Mark: Hashable, Sendable {
  public let dialog: DialogID
  public let user: UserID
  /// The last message that has reached a device of the member.
  public var delivered: Position
  /// The last message that the member has read.
  public var displayed: Position
  /// `dialog.ordinal` just after the displayed message.
  public var displayedOrdinal: Int64
  /// The number of counting messages that the member has written.
  public var own: Int64
  /// The number of the member's counting messages at or before the displayed message.
  public var ownAtDisplayed: Int64
  /// The log position of the last change of `delivered` or `displayed`.
  public var position: Position
  /// The number of counting messages of others behind the displayed one that the member has deleted for themselves.
  public var hidden: Int64
  /// The number of other counting messages of others behind the displayed one that were retracted, at most
  /// `Limits.retractedCountedMax`. A sum over dialogs may count fewer (`Limits.retractedLooksMax`). A store computes it when
  /// it reads the mark, and never stores it.
  public let retracted: Int64

  public init(
    dialog: DialogID, user: UserID, delivered: Position = .zero, displayed: Position = .zero,
    displayedOrdinal: Int64 = 0, own: Int64 = 0, ownAtDisplayed: Int64 = 0, position: Position = .zero,
    hidden: Int64 = 0, retracted: Int64 = 0
  ) {
    self.hidden = hidden
    self.retracted = retracted
    self.dialog = dialog
    self.user = user
    self.delivered = delivered
    self.displayed = displayed
    self.displayedOrdinal = displayedOrdinal
    self.own = own
    self.ownAtDisplayed = ownAtDisplayed
    self.position = position
  }

  /// Returns the number of unread messages, for a mark that was read from the store.
  public func unread(ordinal: Int64) -> Int64 {
    max(0, (ordinal - displayedOrdinal) - (own - ownAtDisplayed) - hidden - retracted)
  }
}

/// A change of a block list (XEP-0191).
public struct BlockChange: Sendable {
  public enum Act: UInt8, Sendable { case block = 1, unblock = 2 }
  public let act: Act
  /// The patterns that were added or removed; for "unblock all" the complete list.
  public let patterns: [BlockPattern]
  public init(act: Act, patterns: [BlockPattern]) {
    self.act = act
    self.patterns = patterns
  }
}

/// A dialog of two users as stored: private, `self`, or the private messages of two occupants of a room. `first` <
/// `second` by number; in a `self` dialog they are the same user.
public struct Dialog: Hashable, Sendable {
  /// The kind of dialog. Stored: never renumber; 2 is a room. A `whispered` one is in no list of dialogs, has no marks,
  /// and is found by pair and room only.
  public enum Kind: UInt8, Sendable { case own = 0, privately = 1, whispered = 3 }
  public let id: DialogID
  public let kind: Kind
  public let first: Party
  public let second: Party
  /// The last message's sequence number; messages are numbered without gaps.
  public var sequence: Int64
  /// The number of entries so far that count as unread.
  public var ordinal: Int64
  /// The position of the last entry of any kind.
  public private(set) var last: Position
  /// The position of the last entry that is shown as a message, or of the first entry: the place in lists.
  public private(set) var shown: Position
  public let createdAt: Timestamp

  public init(
    id: DialogID, kind: Kind, first: Party, second: Party, sequence: Int64 = 0, ordinal: Int64 = 0,
    last: Position = .zero, shown: Position = .zero, createdAt: Timestamp
  ) {
    self.id = id
    self.kind = kind
    self.first = first
    self.second = second
    self.sequence = sequence
    self.ordinal = ordinal
    self.last = last
    self.shown = shown
    self.createdAt = createdAt
  }

  /// Notes that the entry at a position is the last one.
  public mutating func end(at position: Position, isShown: Bool = false) {
    last = position
    if isShown || shown == .zero { shown = position }
  }

  public func peer(of user: UserID) -> Party { first.id == user ? second : first }
  public func has(_ user: UserID) -> Bool { first.id == user || second.id == user }
}

/// A dialog as one member sees it in a list.
public struct DialogView: Sendable {
  public let dialog: Dialog
  public let mark: Mark
  public let settings: DialogSettings
  /// The last message that is shown; `nil` in an empty dialog.
  public let lastMessage: Entry?
  public init(dialog: Dialog, mark: Mark, settings: DialogSettings = DialogSettings(), lastMessage: Entry?) {
    self.dialog = dialog
    self.mark = mark
    self.settings = settings
    self.lastMessage = lastMessage
  }
}
