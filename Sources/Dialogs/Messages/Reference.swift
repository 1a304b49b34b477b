public import Addresses

/// What a message says about an earlier one of the same dialog.
///
/// The message stays what it is: an entry, which XMPP clients get as it was sent.
/// What it makes of the earlier one is folded once, here in the core, into that
/// one's `MessageState`, which is what apps show.
public struct Reference: Sendable {
  /// Stored: never renumber the codes (`FactCoding`).
  public enum Kind: Hashable, Sendable {
    /// An answer: changes nothing.
    case reply
    /// Says it anew (XEP-0308).
    case correction
    /// All emoji of this author from now on; none takes them back (XEP-0444).
    case reactions([String])
    /// Its author takes it back, for everybody (XEP-0424).
    case retraction(reason: String?)
    /// A moderator takes it away, for everybody (XEP-0425).
    case moderation(reason: String?)
    /// It stands at the top of its dialog, or does so no more. No XEP says it: XMPP clients are not told.
    case pin(Bool)
    /// A further stanza of the target, a message of several files (`Messages/Bundle.swift`). What is said about it is said about
    /// the target.
    case part
  }
  public let kind: Kind
  public let target: Position
  public let targetID: PublicID
  /// The id its author gave the target's stanza: what XEP-0308 refers to.
  public let targetStanzaID: String?
  /// Of an app's reply: as whom the target's author said it, in a room the occupant.
  /// What XMPP says it says itself.
  public let targetAuthor: JID?
  /// The target as it is with this; nil where the entry was read from the log: who
  /// needs it reads the target.
  public let outcome: Entry?
  /// With `outcome`: members who came behind the target may not read it
  /// (`RoomSettings.history`).
  public let isSinceJoin: Bool
  /// With `outcome`: users who have deleted the target for themselves, and are not told what becomes of it.
  public let hiddenFrom: [UserID]

  public init(
    kind: Kind, target: Position, targetID: PublicID, targetStanzaID: String?,
    targetAuthor: JID? = nil, outcome: Entry? = nil, isSinceJoin: Bool = false, hiddenFrom: [UserID] = []
  ) {
    self.hiddenFrom = hiddenFrom
    self.kind = kind
    self.target = target
    self.targetID = targetID
    self.targetStanzaID = targetStanzaID
    self.targetAuthor = targetAuthor
    self.outcome = outcome
    self.isSinceJoin = isSinceJoin
  }
}

extension Reference {
  /// Whether it is about the earlier message alone; a reply is a message itself, and a part one more stanza.
  public var changes: Bool {
    switch kind {
    case .reply, .part: false
    case .correction, .reactions, .retraction, .moderation, .pin: true
    }
  }

  /// Nothing of it is said in XMPP.
  public var isUnspoken: Bool { if case .pin = kind { true } else { false } }
}

/// What is intended towards an earlier message.
public struct ReferenceDraft: Sendable {
  public enum Target: Hashable, Sendable {
    /// By its public id.
    case entry(PublicID)
    /// By the id its author gave the stanza, or by its public id as text.
    case stanza(String)
  }
  public var kind: Reference.Kind
  public var target: Target
  public init(kind: Reference.Kind, target: Target) {
    self.kind = kind
    self.target = target
  }
}

/// What became of a message since it was said.
public struct MessageState: Hashable, Sendable {
  public struct Retraction: Hashable, Sendable {
    public let by: Party
    public let at: Timestamp
    /// Of the stanza that took it back, as clients see it (XEP-0424 4).
    public let id: String?
    public let reason: String?
    /// By a moderator.
    public let isModeration: Bool
    public init(by: Party, at: Timestamp, id: String?, reason: String?, isModeration: Bool) {
      self.by = by
      self.at = at
      self.id = id
      self.reason = reason
      self.isModeration = isModeration
    }
  }
  public struct Pin: Hashable, Sendable {
    public let by: Party
    public let at: Timestamp
    public init(by: Party, at: Timestamp) {
      self.by = by
      self.at = at
    }
  }
  public struct Reaction: Hashable, Sendable {
    public let user: Party
    public let emoji: [String]
    public init(user: Party, emoji: [String]) {
      self.user = user
      self.emoji = emoji
    }
  }

  /// Where the last change stands in the log.
  public var version: Position
  /// How many changes there were: of two states of one message the one with more is
  /// the later, and unlike a position it tells nothing of the rest of the log.
  public var revision: Int64
  /// What it says now; nil: as it was said.
  public var text: String?
  /// Whom `text` mentions, where there is one.
  public var mentions: [Mention]
  public var editedAt: Timestamp?
  /// A tombstone: nothing of what was said is left.
  public var retraction: Retraction?
  /// Of each who reacted, in the order of their first reaction; at most `Limits.reactingUsersMax`.
  public var reactions: [Reaction]
  /// nil: it is not pinned.
  public var pin: Pin?

  public init(
    version: Position, revision: Int64 = 0, text: String? = nil, mentions: [Mention] = [],
    editedAt: Timestamp? = nil, retraction: Retraction? = nil, reactions: [Reaction] = [], pin: Pin? = nil
  ) {
    self.pin = pin
    self.version = version
    self.revision = revision
    self.text = text
    self.mentions = mentions
    self.editedAt = editedAt
    self.retraction = retraction
    self.reactions = reactions
  }
}
