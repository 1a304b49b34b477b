import Addresses
import Basics

/// Messages in a room, and their consequences (XEP-0045 7.4, 7.5, 8.1).
extension Judge {
  struct Speaker {
    /// The nick; `nil` for an absent member who has not reserved one yet.
    let nick: String?
    let role: Role
    let affiliation: Affiliation
    let member: Member?

    func checkVoice() throws(Problem) {
      if member?.isKicked == true { throw Problem.roomKicked }
      if role < .participant { throw Problem.noVoice }
    }
  }

  /// Returns the author's role: as the occupant whose session it is, or, for the app protocol, as the member.
  private mutating func speaker(
    _ post: Post, in state: RoomCache.State
  ) throws -> Speaker {
    let occupants = rooms.occupants(of: state.room.id)
    func role(_ role: Role) -> Role { state.room.settings.speakingRole(of: role) }
    // An author who is present with another session acts as that occupant.
    if let occupant = session(of: post).flatMap({ occupants?.occupant(of: $0) })
      ?? occupants?.occupant(of: post.author.id)
    {
      // Whoever was listed while they are there says nothing more, and may leave.
      try checkListed(post.author, occupant.affiliation)
      return Speaker(nick: occupant.nick, role: role(occupant.role), affiliation: occupant.affiliation, member: nil)
    }
    guard let member = try member(post.author.id, in: state), member.affiliation.isMember else {
      throw Problem.notOccupant
    }
    return Speaker(
      nick: member.nick, role: role(member.affiliation.role(isModerated: false)), affiliation: member.affiliation,
      member: member)
  }

  /// Returns the author's nick, and reserves one; called once nothing can be refused any more.
  private mutating func nick(
    of speaker: Speaker, _ post: Post, in state: RoomCache.State
  ) throws -> String {
    if let nick = speaker.nick { return nick }
    guard let member = speaker.member else { return post.author.name }
    return try reservedNick(of: member, in: state)
  }

  /// Checks that an XMPP session is an occupant (7.4): one that has lost its place must learn so.
  private func checkSeat(_ post: Post, in state: RoomCache.State, isXMPP: Bool) throws(Problem) {
    guard isXMPP else { return }
    guard let session = session(of: post), rooms.occupants(of: state.room.id)?.key(of: session) != nil else {
      throw Problem.notOccupant
    }
  }

  mutating func say(
    _ post: Post, _ reference: RoomReference, _ draft: RoomMessageDraft
  ) throws {
    let author = post.author
    let isXMPP = !draft.traits.contains(.fromApp)
    let state = try isXMPP ? find(reference, for: author) : findAsMember(reference, for: author).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state)
    if var receipt = try repeated(draft.key, by: author, in: state.room.id) {
      receipt.isAnonymized = !state.room.showsPeople(to: speaker.affiliation)
      return settle(post, receipt)
    }
    try speaker.checkVoice()
    var draft = draft
    let blobs: Set<BlobID>
    let forwarded: Forwarded?
    (draft.content, forwarded) = try forwarding(draft.forward, draft.content, by: author, into: state.room)
    (draft.content, blobs) = try attached(draft.content, by: author, isApp: !isXMPP)
    let mentions = try mentions(
      of: draft, by: author, as: speaker.affiliation, isApp: !isXMPP, in: state)
    let found = try draft.reference.flatMap {
      try resolve(
        $0, text: draft.content.text, mentions: mentions, id: draft.envelope.id, by: author, others: [],
        in: state.room.id, realm: author.realm,
        mayModerate: speaker.role == .moderator || speaker.affiliation >= .admin,
        mayPin: speaker.role == .moderator || speaker.affiliation >= .admin
          || state.room.settings.membersPin && speaker.affiliation.isMember, isApp: !isXMPP,
        isSinceJoin: state.room.settings.history == .sinceJoin)
    }
    // A change of a message does not count as a further one.
    if found?.reference.changes != true { try slow(author, speaker.role, in: state) }
    try stores(draft.content, draft.envelope, found?.reference, mentions: mentions.count, by: author, post)

    appear(author, in: state.room)
    let nick = try nick(of: speaker, post, in: state)
    let message = message(
      draft, nick: nick, reference: found?.reference, mentions: mentions, forwarded: forwarded, in: state)
    if message.traits.contains(.counts) {
      state.room.ordinal += 1
      if speaker.affiliation.isMember { try count(author, in: state) }
    }
    let entry = try insert(.message(message), by: author, in: state, key: draft.key)
    try follow(entry, post, found, blobs, mentions, draft.envelope, in: state.room) {
      let further = RoomMessageDraft(content: $1, envelope: $2, traits: $3, key: nil)
      let message = $0.message(further, nick: nick, reference: $4, mentions: $5, forwarded: nil, in: state)
      return try $0.insert(.message(message), by: author, in: state)
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.isAnonymized = !state.room.showsPeople(to: speaker.affiliation)
    settle(post, receipt)
  }

  private func message(
    _ draft: RoomMessageDraft, nick: String, reference: Reference?, mentions: [Mention], forwarded: Forwarded?,
    in state: RoomCache.State
  ) -> Message {
    var envelope = draft.envelope
    envelope.type = .groupchat
    envelope.fromResource = nick
    envelope.toResource = nil
    let changes = reference?.changes ?? false
    let isShown = draft.content.kind != .none && !changes && !draft.traits.contains(.part)
    if isShown { state.room.sequence += 1 }
    return Message(
      sequence: isShown ? state.room.sequence : 0, content: draft.content, envelope: envelope,
      traits: changes ? draft.traits.subtracting([.counts]) : draft.traits, reference: reference,
      mentions: mentions, forwarded: forwarded)
  }

  /// Counts the author's own message, as own messages never count as unread (`Mark.unread`).
  private mutating func count(_ author: Party, in state: RoomCache.State) throws {
    guard var mark = try mark(of: author.id, in: state) else { return }
    mark.own += 1
    rooms.set(mark, in: state)
  }

  mutating func mark(of user: UserID, in state: RoomCache.State) throws -> Mark? {
    if let known = state.marks[user] { return known }
    let found = try writer.mark(user, in: state.room.id)
    if let found { rooms.remember(found, in: state) }
    return found
  }

  /// Checks slow mode (XEP-0500): participants wait between two messages, moderators do not.
  private mutating func slow(_ author: Party, _ role: Role, in state: RoomCache.State) throws(Problem) {
    let seconds = state.room.settings.slowModeSeconds
    guard seconds > 0, role < .moderator else { return }
    if let last = rooms.lastSaid(author.id, in: state.room.id) {
      let next = last + .seconds(seconds)
      if time < next { throw Problem.slow(Int((next.milliseconds - time.milliseconds + 999) / 1_000)) }
    }
    rooms.said(author.id, in: state.room.id, at: time, seconds: seconds)
  }

  /// Shows the author to the others: presence precedes the first message of an author that a large room has not shown.
  private mutating func appear(_ author: Party, in room: Room) {
    guard let occupants = rooms.occupants(of: room.id), let key = occupants.key(of: author.id),
      occupants.byKey[key]?.isShown == false,
      let occupant = rooms.occupy(room.id, { $0.set(isShown: true, key: key) })
    else { return }
    tell(.occupant(occupantPresence(of: occupant, in: room), except: nil))
  }

  // MARK: Topic

  mutating func topic(
    _ post: Post, _ reference: RoomReference, _ text: String, _ draft: RoomMessageDraft?
  ) throws {
    let isXMPP = draft != nil
    let state =
      try isXMPP ? find(reference, for: post.author) : findAsMember(reference, for: post.author).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state)
    if speaker.member?.isKicked == true { throw Problem.roomKicked }
    // 8.1: `forbidden`.
    guard speaker.role == .moderator || (speaker.role == .participant && state.room.settings.participantsSetTopic)
    else { throw Problem.notModerator }
    if text.utf8.count > Limits.topicBytesMax {
      throw Problem(.tooLarge, "topic-too-long", "A topic has at most \(Limits.topicBytesMax) bytes.", field: "topic")
    }
    appear(post.author, in: state.room)
    let nick = try nick(of: speaker, post, in: state)
    let topic = Topic(text: text, nick: nick, time: time)
    state.room.topic = topic
    rooms.changed(state)
    var stanza: Message?
    if let draft {
      var envelope = draft.envelope
      envelope.type = .groupchat
      envelope.fromResource = nick
      envelope.toResource = nil
      stanza = Message(sequence: 0, content: draft.content, envelope: envelope, traits: draft.traits)
    }
    let entry = try note(.topic(topic), by: post.author, in: state, stanza: stanza)
    tell(.entry(entry, author: session(of: post)))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    settle(post, receipt)
  }

  // MARK: Messages that are not stored

  mutating func overhear(
    _ post: Post, _ reference: RoomReference, _ stanza: RelayedStanza
  ) throws {
    let isXMPP = session(of: post) != nil
    let state =
      try isXMPP ? find(reference, for: post.author) : findAsMember(reference, for: post.author).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state)
    try speaker.checkVoice()
    let isLarge = isLarge(state.room)
    if isLarge, stanza.extras.isEmpty {
      if stanza.custom != nil { throw Problem.dialogTooLarge }
      return settle(post)
    }
    let nick = try nick(of: speaker, post, in: state)
    tell(
      .signal(
        heard(stanza, as: nick, in: state.room.name, isForApps: !isLarge), state.room.id,
        isSemiAnonymous: !state.room.settings.showsAddresses))
    settle(post)
  }

  /// Returns whether the room is so large that typing indicators are dropped: they would be sent all the time.
  private func isLarge(_ room: Room) -> Bool {
    let count = max(room.memberCount, rooms.occupants(of: room.id)?.byKey.count ?? 0)
    return !room.settings.isMembersOnly && count > Limits.overheardMembersMax
  }

  /// Returns the stanza as the occupants receive it; unless `isForApps`, without the parts for apps.
  private func heard(
    _ stanza: RelayedStanza, as nick: String, in room: RoomName, isForApps: Bool = true
  ) -> RelayedStanza {
    RelayedStanza(
      name: stanza.name, from: stanza.from, fromResource: nick, room: room, to: room.address, toResource: nil,
      id: stanza.id, language: stanza.language, extras: stanza.extras, typing: isForApps ? stanza.typing : nil,
      custom: isForApps ? stanza.custom : nil, isPrivate: stanza.isPrivate)
  }

  /// Relays IQs between occupants (17.4), and private messages that are not stored (7.5).
  mutating func pass(
    _ post: Post, _ reference: RoomReference, to nick: String, _ stanza: RelayedStanza, isQuestion: Bool
  ) throws {
    let state = try find(reference, for: post.author)
    let (author, target) = try whisperers(post, in: state, to: nick)
    let listeners = target.listeners
    let isIQ = if case .iq = stanza.name { true } else { false }
    switch stanza.name {
    case .message(let type) where type != .error:
      try checkWhispers(from: author, to: target, in: state.room)
      if try shuns(target, author, resource: stanza.fromResource, in: state.room) { return settle(post) }
    case .iq("get"), .iq("set"):
      // A call, a file or an address that somebody is shown is a private message in all but the name.
      if !isQuestion, target.party != author.party { try checkWhispers(from: author, to: target, in: state.room) }
      // Unlike a message, a request is answered in any case (XEP-0191 3.3).
      if try shuns(target, author, resource: stanza.fromResource, in: state.room) { throw Problem.occupantUnreachable }
    case .message, .iq, .presence: break
    }
    let heard = heard(stanza, as: author.nick, in: state.room.name)
    tell(.passed(heard, to: isIQ ? Array(listeners.suffix(1)) : listeners))
    settle(post)
  }

  /// Returns the occupant under a nick. One who blocks the author appears absent.
  mutating func face(
    _ post: Post, _ reference: RoomReference, of nick: String
  ) throws {
    let state = try find(reference, for: post.author)
    let (author, target) = try pair(post, in: state, with: nick)
    if try shuns(target, author, resource: nil, in: state.room) { throw Problem.unreachable }
    var receipt = Receipt(position: head)
    receipt.value = OccupantFace(
      party: target.party,
      isKnown: state.room.settings.showsAddresses || author.role == .moderator || author.party == target.party)
    settle(post, receipt)
  }

  // MARK: Private messages

  /// Sends a private message (7.5), which is an entry in the dialog of these two occupants of this room. It reveals
  /// neither's identity to the other.
  mutating func whisper(
    _ post: Post, _ reference: RoomReference, to nick: String, _ draft: RoomMessageDraft
  ) throws {
    let state = try find(reference, for: post.author)
    let room = state.room.name
    let (author, target) = try whisperers(post, in: state, to: nick)
    try checkWhispers(from: author, to: target, in: state.room)
    let mine = try blockList(of: author.party.id)
    if !mine.isEmpty, mine.blocks(room.address.jid(normal: target.nick)) {
      throw Problem(.blocked, "you-block-this-user", "You have blocked this occupant. Unblock them to write.")
    }
    if try shuns(target, author, resource: draft.envelope.fromResource, in: state.room) { return settle(post) }
    let dialog = try whispers(of: author.party, and: target.party, in: room)
    if let receipt = try repeated(draft.key, by: author.party, in: dialog.dialog.id) {
      return settle(post, receipt)
    }
    let (content, blobs) = try attached(draft.content, by: author.party, isApp: false)
    let found = try draft.reference.flatMap {
      try resolve(
        $0, text: content.text, mentions: [], id: draft.envelope.id, by: author.party, others: [target.party],
        in: dialog.dialog.id, realm: room.realm, mayModerate: false, isApp: false)
    }
    try stores(content, draft.envelope, found?.reference, by: author.party, post)
    var envelope = draft.envelope
    envelope.toResource = target.nick
    let entry = try insertMessage(
      from: author.party, at: .whisper(to: target.party, in: room, nick: author.nick), in: dialog,
      content: content, envelope: envelope,
      // Private messages count as unread in no list, and absent users do not receive them later.
      traits: draft.traits.subtracting([.counts, .replayed]), key: draft.key, reference: found?.reference,
      answering: found?.answered)
    try refer(to: blobs, by: entry)
    if let found { try fold(found, in: entry.dialog) }
    let own = session(of: post)
    tell(
      .whispered(
        entry, to: target.listeners,
        // Copies go to the sessions that share the nick (XEP-0280 6.1), if wanted. A message to oneself has reached all
        // of them.
        copies: target.party == author.party || draft.traits.contains(.uncopied)
          ? [] : author.listeners.filter { $0.id != own }))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    settle(post, receipt)
  }

  /// Returns the session's occupant, and the one with this nick.
  private func whisperers(
    _ post: Post, in state: RoomCache.State, to nick: String
  ) throws(Problem) -> (author: Occupants.Occupant, target: Occupants.Occupant) {
    let (author, target) = try pair(post, in: state, with: nick)
    // An app session takes no private messages, and answers no IQs.
    if target.listeners.isEmpty { throw Problem.noWhispers }
    return (author, target)
  }

  /// Returns the session's occupant, and the one with this nick, who may have app sessions only.
  private func pair(
    _ post: Post, in state: RoomCache.State, with nick: String
  ) throws(Problem) -> (author: Occupants.Occupant, target: Occupants.Occupant) {
    let occupants = rooms.occupants(of: state.room.id)
    guard let author = session(of: post).flatMap({ occupants?.occupant(of: $0) }) else { throw Problem.notOccupant }
    guard let (_, key) = try? Self.nick(nick), let target = occupants?.byKey[key] else { throw Problem.occupantUnknown }
    return (author, target)
  }

  private func checkWhispers(
    from author: Occupants.Occupant, to target: Occupants.Occupant, in room: Room
  ) throws(Problem) {
    let isAllowed =
      switch room.settings.whispers {
      case .anyone: true
      case .participants: room.settings.speakingRole(of: author.role) >= .participant
      case .moderators: author.role == .moderator
      case .none: false
      }
    // Moderators can always be written to.
    guard isAllowed || target.role == .moderator && room.settings.whispers != .none else { throw Problem.noWhispers }
  }

  /// Returns whether the target blocks the author, by address or by nick (XEP-0191). The author of a message is not
  /// told: an error would reveal who the target is.
  private mutating func shuns(
    _ target: Occupants.Occupant, _ author: Occupants.Occupant, resource: String?, in room: Room
  ) throws -> Bool {
    if target.party == author.party { return false }
    if try isBlocked(author.party, resource: resource, by: target.party) { return true }
    let theirs = try blockList(of: target.party.id)
    return !theirs.isEmpty && theirs.blocks(room.address.jid(normal: author.nick))
  }

  // MARK: Markers

  mutating func marker(
    _ post: Post, _ reference: RoomReference, _ draft: RoomMarkerDraft
  ) throws {
    let reader = post.author
    let (state, _) = try findAsMember(reference, for: reader)
    let told = !draft.isPrivate && state.room.memberCount <= Limits.markersToldMax
    if !told { post.charge?.giveBack(now: now) }
    if let stanza = draft.stanza, told, session(of: post) != nil {
      try checkSeat(post, in: state, isXMPP: true)
      try relay(stanza, of: post, in: state)
    }
    var receipt = Receipt(position: head)
    guard var mark = try mark(of: reader.id, in: state),
      let position = realms.position(of: draft.target, in: reader.realm),
      let target = try whole(writer.entry(position, in: .server(state.room.id, .rules)))
    else {
      if draft.stanza != nil { return settle(post, receipt) }
      throw Problem.messageUnknown(field: draft.kind.field)
    }
    let was = draft.kind == .delivered ? mark.delivered : mark.displayed
    let isSaidNow = try draft.kind == .displayed && told && isUntold(mark, at: target.position)
    guard target.position > was || isSaidNow else {
      receipt.isRepeat = true
      return settle(post, receipt)
    }
    if draft.kind == .displayed {
      guard try display(target, by: reader, &mark, in: state) else {
        receipt.isRepeat = true
        return settle(post, receipt)
      }
    }
    if target.position > mark.delivered { mark.delivered = target.position }
    let hidesRead = try draft.kind == .delivered && self.hidesRead(mark)
    let superseded = mark.position
    mark.position = head.next
    let entry = try insert(
      .marker(
        Marker(
          kind: draft.kind, mark: mark, target: target.position, targetID: target.id, targetStanzaID: nil,
          stanza: nil, told: told, asked: false, hidesRead: hidesRead)),
      by: reader, in: state, feeds: told ? [] : FeedRow.rows(of: reader, [.mark]))
    rooms.remember(mark, in: state)
    try writer.put(mark, superseded: superseded)
    tell(.entry(entry, author: session(of: post)))
    if draft.kind == .displayed, !isSaidNow {
      try tellDisplayed(
        target.id, of: state.room.address, archive: state.room.address, by: reader)
    }
    receipt.position = head
    receipt.entry = entry
    settle(post, receipt)
  }

  /// Relays the stanza of a marker unchanged to the occupants; it is not archived. As it may contain anything, it requires voice.
  private mutating func relay(_ stanza: RoomMessageDraft, of post: Post, in state: RoomCache.State) throws {
    let speaker = try speaker(post, in: state)
    if speaker.role >= .participant {
      let nick = try nick(of: speaker, post, in: state)
      tell(
        .signal(
          RelayedStanza(
            name: .message(.groupchat), from: post.author, fromResource: nick, room: state.room.name,
            to: state.room.address, toResource: nil, id: stanza.envelope.id, extras: stanza.content.extras),
          state.room.id, isSemiAnonymous: !state.room.settings.showsAddresses))
    }
  }

  /// Notes in a mark that the reader has seen a message. Returns `false` if they had seen later ones.
  private mutating func display(
    _ target: Entry, by reader: Party, _ mark: inout Mark, in state: RoomCache.State
  ) throws -> Bool {
    let isLast = target.position >= state.room.last
    let all = try isLast ? state.room.ordinal : writer.ordinal(in: state.room.id, upTo: target.position)
    // What was said before the reader joined counts as read: a marker there makes nothing of it unread. Nothing is counted
    // for it, as the mark stays, and the same marker would count again.
    guard all >= mark.displayedOrdinal else { return false }
    // Where nothing counts between the mark and the message, nothing of the reader's own does: who leaves a room, comes back and
    // marks an old message again costs no look at what is between.
    let own =
      try isLast
      ? mark.own
      : all == mark.displayedOrdinal ? mark.ownAtDisplayed : ownCount(upTo: target.position, by: reader.id, in: state)
    if mark.hidden > 0 {
      mark.hidden = try writer.hiddenCount(of: reader.id, in: state.room.id, after: target.position)
    }
    mark.displayed = target.position
    mark.displayedOrdinal = all
    mark.ownAtDisplayed = own
    return true
  }

  /// Counts what the reader has written, up to a position. The store counts its own rows, so this batch's mark is written first.
  private mutating func ownCount(
    upTo position: Position, by reader: UserID, in state: RoomCache.State
  ) throws -> Int64 {
    if state.dirtyMarks.contains(reader), let mark = state.marks[reader] { try writer.put(mark, superseded: .zero) }
    return try writer.counting(in: state.room.id, upTo: position, by: reader, looksMax: Limits.ownLooksMax).own
  }
}
