public import Addresses
public import Basics

/// A message's reference to an earlier one of the same dialog.
///
/// The message remains an entry, which XMPP clients get as it was sent. Its effect on the earlier one is folded once,
/// here in the core, into that one's `MessageState`, which apps show.
public struct Reference: Sendable {
  /// Stored: never renumber the codes (`FactCoding`).
  public enum Kind: Hashable, Sendable {
    /// A reply, which changes nothing.
    case reply
    /// A correction of the message (XEP-0308).
    case correction
    /// The author's complete set of emoji from now on; empty to remove it (XEP-0444).
    case reactions([String])
    /// A retraction by the message's author, for everyone (XEP-0424).
    case retraction(reason: String?)
    /// A retraction by a moderator, for everyone (XEP-0425).
    case moderation(reason: String?)
    /// Pins or unpins the message. No XEP defines it: XMPP clients are not told.
    case pin(Bool)
    /// A further stanza of the target, a message of several files (`Messages/Bundle.swift`). References to it are
    /// references to the target.
    case part
  }
  public let kind: Kind
  public let target: Position
  public let targetID: PublicID
  /// The stanza id that the target's author gave it, which XEP-0308 refers to; `nil` if it is not kept (`Envelope.kept`).
  public let targetStanzaID: String?
  /// For an app's reply, the address under which the target's author wrote it, in a room the occupant's. A stanza
  /// contains it itself.
  public let targetAuthor: JID?
  /// The target after this change; `nil` if the entry was read from the log: then the target must be read.
  public let outcome: Entry?
  /// With `outcome`: whether members who joined after the target may not read it (`RoomSettings.history`).
  public let isSinceJoin: Bool
  /// With `outcome`: the users who have deleted the target for themselves, and are not told of its changes.
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
  /// Whether it only changes the earlier message; a reply is a message itself, and a part a further stanza.
  public var changes: Bool {
    switch kind {
    case .reply, .part: false
    case .correction, .reactions, .retraction, .moderation, .pin: true
    }
  }

  /// Whether it is not sent to XMPP clients.
  public var isUnspoken: Bool { if case .pin = kind { true } else { false } }
}

/// A requested reference to an earlier message.
public struct ReferenceDraft: Sendable {
  public enum Target: Hashable, Sendable {
    /// The message with this public id.
    case entry(PublicID)
    /// The message with this stanza id of its author's, or with this public id as text.
    case stanza(String)
  }
  public var kind: Reference.Kind
  public var target: Target
  public init(kind: Reference.Kind, target: Target) {
    self.kind = kind
    self.target = target
  }
}

/// The changes of a message since it was sent.
public struct MessageState: Hashable, Sendable {
  public struct Retraction: Hashable, Sendable {
    public let by: Party
    public let at: Timestamp
    /// The id of the stanza that retracted it, as clients see it (XEP-0424 4), or that of its entry if the stanza's is not kept
    /// (`Envelope.kept`).
    public let id: String?
    public let reason: String?
    /// Whether a moderator retracted it.
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

  public enum Delivery: Hashable, Sendable {
    /// The other server has not taken it for some time: it waits in the outbox.
    case queued
    case failed(FederationFailure)
  }

  /// The position of the last change.
  public var version: Position
  /// The number of changes: the state with the greater one is the later, and unlike a position it reveals nothing of
  /// the rest of the log.
  public var revision: Int64
  /// The current text; `nil` if it was not corrected.
  public var text: String?
  /// The number of its corrections, at most `Limits.correctionsMax`; those of before they were counted are not among them.
  public var corrections: Int
  /// The mentions of `text`, if there is one.
  public var mentions: [Mention]
  public var editedAt: Timestamp?
  /// The retraction of a tombstone, which has no other content.
  public var retraction: Retraction?
  /// The reactions of each user, in the order of their first one; at most `Limits.reactingUsersMax`, with at most
  /// `differentReactionsMax` emoji and `reactionsBytesMax` bytes.
  public var reactions: [Reaction]
  /// The pin; `nil` if the message is not pinned.
  public var pin: Pin?
  /// The state of its delivery to a user elsewhere; `nil` if it has been handed over, as far as is known.
  public var delivery: Delivery?
  /// The reason why a user elsewhere did not get it; `nil` as far as is known.
  public var failure: FederationFailure? { if case .failed(let failure) = delivery { failure } else { nil } }

  public init(
    version: Position, revision: Int64 = 0, text: String? = nil, mentions: [Mention] = [],
    editedAt: Timestamp? = nil, retraction: Retraction? = nil, reactions: [Reaction] = [], pin: Pin? = nil,
    delivery: Delivery? = nil, corrections: Int = 0
  ) {
    self.corrections = corrections
    self.delivery = delivery
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
