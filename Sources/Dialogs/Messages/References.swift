import Addresses
import Basics

// The effect of messages on earlier ones, folded (XEP-0308, 0424, 0425, 0444, 0461). Theory:
//
// Corrections, reactions and retractions are ordinary entries, so XMPP clients get them as they were sent, live and
// from the archive. Beside the log each changed message has a state, which the fold advances:
//
//   sent -correction (by its author)-> edited -correction-> edited
//   sent, edited -reactions (by anyone)-> the same, with that user's set replaced
//   sent, edited -pin (by those who may)-> the same, pinned or not
//   sent, edited -retraction (by its author), moderation (by a moderator)-> tombstone, which is final
//
// The fold is a pure function of state, kind and actor. A refused reference changes nothing: an app gets an error, an
// XMPP stanza is stored as the message that it is for a client which does not know the XEP, or, if there are too many
// reactions, as a reaction that only XMPP clients show. A correction too many is an error for both: as a message it would
// be a further one, again and again.

/// The reason why a reference has no effect.
enum ReferenceRefusal: Error, Hashable {
  /// The message is another user's.
  case foreign
  /// The message was retracted.
  case gone
  /// The message's kind cannot be referred to in this way.
  case unsuitable
  /// The message would have more reactions than it may have.
  case full
  /// The message has as many corrections as it may have.
  case corrected
}

extension MessageState {
  /// Returns the state after `kind` by `actor`; `nil` if it does not change.
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
      // The text of an encrypted correction is unknown here, and a forwarded text is not its sender's to change.
      guard message.content.kind != .encrypted, message.forwarded == nil, !text.isEmpty else { throw .unsuitable }
      guard next.corrections < Limits.correctionsMax else { throw .corrected }
      next.corrections += 1
      next.text = text
      next.mentions = mentions
      next.editedAt = time
    case .reactions(let emoji):
      let kept = clean(emoji)
      next.reactions.removeAll { $0.user == actor }
      if kept.isEmpty {
        if next.reactions.count == state?.reactions.count ?? 0 { return nil }
      } else {
        // In the order of each user's first reaction.
        let place = state?.reactions.firstIndex { $0.user == actor } ?? next.reactions.endIndex
        next.reactions.insert(Reaction(user: actor, emoji: kept), at: min(place, next.reactions.endIndex))
        guard next.isWithinBounds(after: state, choosing: kept.count) else { throw .full }
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

  /// Removes duplicates and emoji that are too long, and bounds their number.
  private static func clean(_ emoji: [String]) -> [String] {
    var seen: Set<String> = []
    return Array(
      emoji.filter { !$0.isEmpty && $0.utf8.count <= Limits.emojiBytesMax && seen.insert($0).inserted }
        .prefix(Limits.reactionsMax))
  }

  /// Returns whether the message may have these reactions after a user chose so many emoji: within the bounds, of which
  /// several emoji have half, or no more than it had.
  private func isWithinBounds(after former: MessageState?, choosing count: Int) -> Bool {
    guard reactions.count <= Limits.reactingUsersMax else { return false }
    let share = count == 1 ? 1 : 2
    let (bytes, different) = (reactionBytes, differentReactions)
    guard bytes <= Limits.reactionsBytesMax / share || bytes <= former?.reactionBytes ?? 0 else { return false }
    return different <= Limits.differentReactionsMax / share || different <= former?.differentReactions ?? 0
  }

  private var differentReactions: Int { Set(reactions.flatMap(\.emoji)).count }

  /// The bytes that the reactions take in an event, about: for each emoji of each user those of the emoji and of the user.
  var reactionBytes: Int {
    reactions.reduce(0) { sum, reaction in
      let user = max(reaction.user.address.description.utf8.count, Limits.reactingUserBytes)
      return reaction.emoji.reduce(sum) { $0 + user + $1.utf8.count }
    }
  }
}

extension Judge {
  /// Returns the reference of a message that is about to be inserted at the next position, and the target's new state;
  /// `nil` if it has no effect.
  func resolve(
    _ draft: ReferenceDraft, text: String, mentions: [Mention], id: String?, by actor: Party, others: [Party],
    in dialog: DialogID, realm: RealmID, mayModerate: Bool, mayPin: Bool = true, isApp: Bool,
    isSinceJoin: Bool = false
  ) throws -> ResolvedReference? {
    let kind = Self.cut(draft.kind)
    guard var target = try find(draft.target, by: actor, others, in: dialog, realm: realm, draft.kind) else {
      if isApp { throw Problem.messageUnknown(field: draft.kind == .reply ? "replyTo" : "messageId") }
      return nil
    }
    let named = target
    // Clients that name a correction mean the corrected message, and those that name a part the message it belongs to.
    if case .message(let message) = target.fact, let earlier = message.reference,
      earlier.kind == .correction || earlier.kind == .part,
      let first = try writer.entry(earlier.target, in: .server(dialog, .rules))
    {
      target = first
    }
    // Notices cannot be changed or answered.
    guard case .message(let message) = target.fact else {
      if isApp { throw Self.unsuitable }
      return nil
    }
    // The id that the stanza will have: one without its own has the entry's (XEP-0424 4).
    let id = (isApp ? nil : Envelope.kept(id)) ?? realms.entryID(head.next, in: realm).description
    let state: MessageState?
    do throws(ReferenceRefusal) {
      state = try MessageState.folding(
        kind, text: text, mentions: mentions, by: actor, mayModerate: mayModerate, mayPin: mayPin, into: target.state,
        of: target, at: head.next, id: id, time: time)
    } catch {
      guard !isApp, error != .corrected else { throw Self.problem(error, isApp: isApp) }
      guard error == .full else { return nil }
      // It remains a reaction, which is no message to read.
      state = nil
    }
    let reference = Reference(
      kind: kind, target: target.position, targetID: target.id,
      // An app's message has the same id everywhere; the envelope contains the client's. A correction changes the
      // caption.
      targetStanzaID: message.traits.contains(.fromApp)
        ? kind == .correction && message.captionPart > 0
          ? realms.entryID(target.position + message.captionPart, in: realm).description : nil
        : Envelope.kept(message.envelope.id),
      targetAuthor: kind == .reply && isApp ? Self.author(of: target, message) : nil,
      // If nothing has changed, the current state is sent: the same live and from the log.
      outcome: kind == .reply ? nil : state.map { target.with($0) } ?? target, isSinceJoin: isSinceJoin,
      hiddenFrom: kind == .reply ? [] : try writer.hidden(from: target.position, in: dialog))
    if case .pin(true) = kind, state != nil { try checkPins(of: dialog) }
    return ResolvedReference(
      reference: reference, state: state, author: target.author.id, named: named.position, parts: message.parts,
      wasPinned: target.state?.pin != nil)
  }

  private static func problem(_ refusal: ReferenceRefusal, isApp: Bool) -> Problem {
    switch refusal {
    case .foreign: Problem(.forbidden, "message-foreign", "Only its author may do this to a message.")
    case .gone: Problem(.missing, "message-deleted", "This message was deleted.")
    case .unsuitable: unsuitable
    case .full:
      Problem(
        .tooLarge, "too-many-reactions",
        "This message has as many reactions as it may have, or nearly. One emoji that it has may still be accepted.",
        field: "emoji")
    case .corrected:
      Problem(
        .tooLarge, "too-many-corrections",
        "This message was corrected \(Limits.correctionsMax) times, as often as it may be. Send a new one.",
        field: isApp ? "messageId" : nil)
    }
  }

  /// Stores the target's new state, as `resolve` returned it.
  mutating func fold(
    _ found: ResolvedReference, in dialog: DialogID
  ) throws {
    guard let state = found.state else { return }
    // Released first: the state of a tombstone contains no corrections.
    if let target = found.reference.outcome { try releaseBlobs(of: target, state) }
    try writer.put(state, of: found.reference.target, in: dialog)
    if (state.pin != nil) != found.wasPinned {
      try writer.setPinned(state.pin == nil ? nil : state.version, message: found.reference.target, in: dialog)
    }
  }

  private static func author(of target: Entry, _ message: Message) -> JID {
    target.room?.address.jid(normal: message.envelope.fromResource) ?? JID(target.author.address)
  }

  static let unsuitable = Problem(
    .malformed, "message-unsuitable", "This cannot be done to this message.")

  /// Shortens reasons, which are stored twice, in the log and in the state.
  private static func cut(_ kind: Reference.Kind) -> Reference.Kind {
    switch kind {
    case .retraction(let reason): .retraction(reason: cut(reason))
    case .moderation(let reason): .moderation(reason: cut(reason))
    case .reply, .correction, .reactions, .pin, .part: kind
    }
  }

  /// Returns the target. XEP-0308 names the author's own id; other references name the room's id in rooms, and the
  /// author's between two users (`docs/decisions`). Either is accepted, since clients err.
  private func find(
    _ target: ReferenceDraft.Target, by actor: Party, _ others: [Party], in dialog: DialogID, realm: RealmID,
    _ kind: Reference.Kind
  ) throws -> Entry? {
    let text: String
    switch target {
    case .entry(let id):
      guard let position = realms.position(of: id, in: realm) else { return nil }
      return try writer.entry(position, in: .server(dialog, .rules))
    case .stanza(let id): text = id
    }
    if let id = PublicID(text), let position = realms.position(of: id, in: realm),
      let found = try writer.entry(position, in: .server(dialog, .rules))
    {
      return found
    }
    let authors: [Party]
    if case .correction = kind { authors = [actor] } else { authors = [actor] + others }
    for author in authors {
      if let found = try writer.find(text, by: author.id, in: dialog) {
        return try writer.entry(found.position, in: .server(dialog, .rules))
      }
    }
    return nil
  }
}

/// A reference whose target was found.
struct ResolvedReference {
  let reference: Reference
  /// The target's new state; `nil` if it does not change.
  let state: MessageState?
  /// The target's author.
  let author: UserID
  /// The position that the author of the reference named: the target, or a part of it.
  let named: Position
  /// The number of the target's parts, as it was sent.
  let parts: Int
  let wasPinned: Bool

  /// The author of the answered message; `nil` if this is no answer.
  var answered: UserID? { reference.kind == .reply ? author : nil }
}
