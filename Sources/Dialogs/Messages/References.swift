import Addresses

// What a message makes of an earlier one, folded (XEP-0308, 0424, 0425, 0444, 0461). Theory:
//
// Corrections, reactions and retractions are entries like all others, so XMPP clients get them as they were sent, live and
// from the archive. Beside the log each message that something became of has a state, which the fold takes on:
//
//   said -correction (by its author)-> edited -correction-> edited
//   said, edited -reactions (of anybody)-> the same, with that person's set replaced
//   said, edited -pin (by whoever may)-> the same, pinned or not
//   said, edited -retraction (by its author), moderation (by a moderator)-> tombstone; nothing leaves it
//
// The fold is a pure function of state, kind and actor. What it refuses changes nothing: the app is told so, XMPP's stanza is
// kept as the message it looks like to a client that does not know the XEP.

/// Why a reference has no effect.
enum ReferenceRefusal: Error, Hashable {
  /// Of somebody else.
  case foreign
  /// Nothing is left to refer to.
  case gone
  /// Not among the kinds that can be referred to so.
  case unsuitable
}

extension MessageState {
  /// The state after `kind` by `actor`; nil: it is not changed.
  static func folding(
    _ kind: Reference.Kind, text: String, mentions: [Mention] = [], by actor: Party, mayModerate: Bool,
    mayPin: Bool = true, into state: MessageState?, of target: Entry, at position: Position, id: String?,
    time: Timestamp
  ) throws(ReferenceRefusal) -> MessageState? {
    guard case .message(let message) = target.fact, message.sequence > 0 else { throw .unsuitable }
    if state?.retraction != nil { throw .gone }
    var next = state ?? MessageState(version: position)
    next.version = position
    next.revision += 1
    switch kind {
    case .reply, .part: return nil
    case .correction:
      guard target.author == actor else { throw .foreign }
      // Nobody here can tell what an encrypted correction says, and nobody puts words into another's mouth.
      guard message.content.kind != .encrypted, message.forwarded == nil, !text.isEmpty else { throw .unsuitable }
      next.text = text
      next.mentions = mentions
      next.editedAt = time
    case .reactions(let emoji):
      let kept = clean(emoji)
      next.reactions.removeAll { $0.user == actor }
      if kept.isEmpty {
        if next.reactions.count == state?.reactions.count ?? 0 { return nil }
      } else {
        guard next.reactions.count < Limits.reactingUsersMax else { return nil }
        // In the order of each person's first reaction.
        let place = state?.reactions.firstIndex { $0.user == actor } ?? next.reactions.endIndex
        next.reactions.insert(Reaction(user: actor, emoji: kept), at: min(place, next.reactions.endIndex))
      }
    case .pin(let isPinned):
      guard mayPin else { throw .foreign }
      if isPinned == (next.pin != nil) { return nil }
      next.pin = isPinned ? Pin(by: actor, at: time) : nil
    case .retraction(let reason):
      guard target.author == actor else { throw .foreign }
      next = MessageState(
        version: position, revision: next.revision,
        retraction: Retraction(by: actor, at: time, id: id, reason: reason, isModeration: false))
    case .moderation(let reason):
      guard mayModerate else { throw .foreign }
      next = MessageState(
        version: position, revision: next.revision,
        retraction: Retraction(by: actor, at: time, id: id, reason: reason, isModeration: true))
    }
    return next
  }

  /// Each once, none too long, not too many.
  private static func clean(_ emoji: [String]) -> [String] {
    var seen: Set<String> = []
    return Array(
      emoji.filter { !$0.isEmpty && $0.utf8.count <= Limits.emojiBytesMax && seen.insert($0).inserted }
        .prefix(Limits.reactionsMax))
  }
}

extension Judge {
  /// The reference of a message that is about to be inserted at the next
  /// position, and the target's new state; nil: it has no effect.
  func resolve(
    _ draft: ReferenceDraft, text: String, mentions: [Mention], id: String?, by actor: Party, others: [Party],
    in dialog: DialogID, realm: RealmID, mayModerate: Bool, mayPin: Bool = true, isApp: Bool,
    isSinceJoin: Bool = false, _ writer: any StoreWriter
  ) throws -> ResolvedReference? {
    let kind = Self.cut(draft.kind)
    guard var target = try find(draft.target, by: actor, others, in: dialog, realm: realm, draft.kind, writer) else {
      if isApp { throw Problem.messageUnknown(field: draft.kind == .reply ? "replyTo" : "messageId") }
      return nil
    }
    let named = target
    // Clients that name a correction mean what it corrects, and those that name a part the message that it is of.
    if case .message(let message) = target.fact, let earlier = message.reference,
      earlier.kind == .correction || earlier.kind == .part, let first = try writer.entry(earlier.target, in: dialog)
    {
      target = first
    }
    // Notices are nobody's to change, and nothing to answer.
    guard case .message(let message) = target.fact else {
      if isApp { throw Self.unsuitable }
      return nil
    }
    // What the stanza will have: what has no id of its own has the entry's (XEP-0424 4).
    let id = (isApp ? nil : id) ?? realms.entryID(head.next, in: realm).description
    let state: MessageState?
    do throws(ReferenceRefusal) {
      state = try MessageState.folding(
        kind, text: text, mentions: mentions, by: actor, mayModerate: mayModerate, mayPin: mayPin, into: target.state,
        of: target, at: head.next, id: id, time: time)
    } catch {
      guard isApp else { return nil }
      switch error {
      case .foreign: throw Problem(.forbidden, "message-foreign", "Only its author may do this to a message.")
      case .gone: throw Problem(.missing, "message-deleted", "This message was deleted.")
      case .unsuitable: throw Self.unsuitable
      }
    }
    let reference = Reference(
      kind: kind, target: target.position, targetID: target.id,
      // The app's messages have one id everywhere; the envelope has the client's. What an edit says anew is the caption.
      targetStanzaID: message.traits.contains(.fromApp)
        ? kind == .correction && message.captionPart > 0
          ? realms.entryID(target.position + message.captionPart, in: realm).description : nil
        : message.envelope.id,
      targetAuthor: kind == .reply && isApp ? Self.author(of: target, message) : nil,
      // Where nothing has changed, it is told as it is: live and from the log the same.
      outcome: kind == .reply ? nil : state.map { target.with($0) } ?? target, isSinceJoin: isSinceJoin,
      hiddenFrom: kind == .reply ? [] : try writer.hidden(from: target.position, in: dialog))
    if case .pin(true) = kind, state != nil { try checkPins(of: dialog, writer) }
    return ResolvedReference(
      reference: reference, state: state, author: target.author.id, named: named.position, parts: message.parts,
      wasPinned: target.state?.pin != nil)
  }

  /// The target's new state, as `resolve` found it.
  func fold(
    _ found: ResolvedReference, in dialog: DialogID, _ writer: any StoreWriter
  ) throws {
    guard let state = found.state else { return }
    // Before: the state of a tombstone forgets what corrected it.
    if let target = found.reference.outcome { try releaseBlobs(of: target, state, writer) }
    try writer.put(state, of: found.reference.target, in: dialog)
    if (state.pin != nil) != found.wasPinned {
      try writer.setPinned(state.pin == nil ? nil : state.version, message: found.reference.target, in: dialog)
    }
  }

  private static func author(of target: Entry, _ message: Message) -> JID? {
    guard let room = target.room else { return JID(target.author.address) }
    return try? JID(
      local: room.address.local, domain: room.address.domain, resource: message.envelope.fromResource)
  }

  static let unsuitable = Problem(
    .malformed, "message-unsuitable", "This cannot be done to this message.")

  /// What is kept twice, in the log and in the state, must not be long.
  private static func cut(_ kind: Reference.Kind) -> Reference.Kind {
    switch kind {
    case .retraction(let reason): .retraction(reason: cut(reason))
    case .moderation(let reason): .moderation(reason: cut(reason))
    case .reply, .correction, .reactions, .pin, .part: kind
    }
  }

  /// XEP-0308 names the author's own id; in rooms the others name the room's id,
  /// between two users what the author gave (`docs/decisions`). Either is
  /// accepted, since clients err.
  private func find(
    _ target: ReferenceDraft.Target, by actor: Party, _ others: [Party], in dialog: DialogID, realm: RealmID,
    _ kind: Reference.Kind, _ writer: any StoreWriter
  ) throws -> Entry? {
    let text: String
    switch target {
    case .entry(let id):
      guard let position = realms.position(of: id, in: realm) else { return nil }
      return try writer.entry(position, in: dialog)
    case .stanza(let id): text = id
    }
    if let id = PublicID(text), let position = realms.position(of: id, in: realm),
      let found = try writer.entry(position, in: dialog)
    {
      return found
    }
    let authors: [Party]
    if case .correction = kind { authors = [actor] } else { authors = [actor] + others }
    for author in authors {
      if let found = try writer.find(text, by: author.id, in: dialog) {
        return try writer.entry(found.position, in: dialog)
      }
    }
    return nil
  }
}

/// A reference whose target was found.
struct ResolvedReference {
  let reference: Reference
  /// Of the target from now on; nil: as it was.
  let state: MessageState?
  /// The target's.
  let author: UserID
  /// What the author of the reference named: the target, or a part of it.
  let named: Position
  /// Of the target, as it was said.
  let parts: Int
  let wasPinned: Bool

  /// Whose message is answered; nil: it is no answer.
  var answered: UserID? { reference.kind == .reply ? author : nil }
}
