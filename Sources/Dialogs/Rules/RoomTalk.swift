import Addresses

/// What is said in a room, and what follows from it (XEP-0045 7.4, 7.5, 8.1).
extension Judge {
  struct Speaker {
    /// nil: a member who is not there and has not reserved one yet.
    let nick: String?
    let role: Role
    let affiliation: Affiliation
    let member: Member?
  }

  /// With what voice the author speaks: as the occupant the session is, or, where
  /// the app asks, as the member.
  private mutating func speaker(
    _ post: Post, in state: RoomBook.State, _ writer: any StoreWriter
  ) throws -> Speaker {
    let occupants = rooms.occupants(of: state.room.id)
    // Who is there with another session speaks as that occupant.
    if let occupant = session(of: post).flatMap({ occupants?.occupant(of: $0) }) ?? occupants?.occupant(of: post.author.id) {
      return Speaker(nick: occupant.nick, role: occupant.role, affiliation: occupant.affiliation, member: nil)
    }
    guard let member = try member(post.author.id, in: state, writer), member.affiliation.isMember else {
      throw Problem.notOccupant
    }
    return Speaker(
      nick: member.nick, role: member.affiliation.role(isModerated: false), affiliation: member.affiliation,
      member: member)
  }

  /// Once nothing can be refused any more: a nick may be reserved now.
  private mutating func nick(
    of speaker: Speaker, _ post: Post, in state: RoomBook.State, _ writer: any StoreWriter
  ) throws -> String {
    if let nick = speaker.nick { return nick }
    guard let member = speaker.member else { return post.author.name }
    return try reservedNick(of: member, in: state, writer)
  }

  /// XMPP speaks as an occupant only (7.4): a session that has lost its place
  /// must learn so.
  private func checkSeat(_ post: Post, in state: RoomBook.State, isXMPP: Bool) throws(Problem) {
    guard isXMPP else { return }
    guard let session = session(of: post), rooms.occupants(of: state.room.id)?.key(of: session) != nil else {
      throw Problem.notOccupant
    }
  }

  mutating func say(
    _ post: Post, _ reference: RoomReference, _ draft: RoomMessageDraft, _ writer: any StoreWriter
  ) throws {
    let author = post.author
    let isXMPP = !draft.traits.contains(.fromApp)
    let state = try isXMPP ? find(reference, for: author, writer) : findAsMember(reference, for: author, writer).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state, writer)
    if let key = draft.key, let before = try writer.find(key.id, by: author.id, in: state.room.id) {
      if before.bodyHash == key.bodyHash {
        var receipt = Receipt(position: head)
        receipt.isRepeat = true
        receipt.entry = try writer.entry(before.position, in: state.room.id)
        receipt.room = state.room
        return settle(post, receipt)
      }
      if key.rule == .app {
        throw Problem(
          .conflict, "client-id-reused", "This clientId was used for another message in this dialog.",
          field: "clientId")
      }
    }
    if speaker.role < .participant { throw Problem.noVoice }
    let found = try draft.reference.flatMap {
      try resolve(
        $0, text: draft.content.text, id: draft.envelope.id, by: author, others: [], in: state.room.id, realm: author.realm,
        mayModerate: speaker.role == .moderator || speaker.affiliation >= .admin, isApp: !isXMPP,
        isSinceJoin: state.room.settings.history == .sinceJoin, writer)
    }
    // What changes a message is not a further one.
    if found?.reference.changes != true { try slow(author, speaker.role, in: state) }

    appear(author, in: state.room)
    let message = message(
      draft, nick: try nick(of: speaker, post, in: state, writer), reference: found?.reference, in: state)
    if message.traits.contains(.counts) {
      state.room.ordinal += 1
      if speaker.affiliation.isMember { try count(author, in: state, writer) }
    }
    let entry = try insert(.message(message), by: author, in: state, key: draft.key, writer)
    if let found, let state = found.state { try writer.put(state, of: found.reference.target, in: entry.dialog) }
    tell(.entry(entry, author: session(of: post)))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    settle(post, receipt)
  }

  private func message(
    _ draft: RoomMessageDraft, nick: String, reference: Reference?, in state: RoomBook.State
  ) -> Message {
    var envelope = draft.envelope
    envelope.type = .groupchat
    envelope.fromResource = nick
    envelope.toResource = nil
    let changes = reference?.changes ?? false
    let isShown = draft.content.kind != .none && !changes
    if isShown { state.room.sequence += 1 }
    return Message(
      sequence: isShown ? state.room.sequence : 0, content: draft.content, envelope: envelope,
      traits: changes ? draft.traits.subtracting([.counts]) : draft.traits, reference: reference)
  }

  /// Own messages never count as unread (`Mark.unread`).
  private mutating func count(_ author: Party, in state: RoomBook.State, _ writer: any StoreWriter) throws {
    guard var mark = try mark(of: author.id, in: state, writer) else { return }
    mark.own += 1
    rooms.set(mark, in: state)
  }

  mutating func mark(of user: UserID, in state: RoomBook.State, _ writer: any StoreWriter) throws -> Mark? {
    if let known = state.marks[user] { return known }
    let found = try writer.mark(user, in: state.room.id)
    if let found { rooms.remember(found, in: state) }
    return found
  }

  /// XEP-0500: participants wait between two messages, moderators do not.
  private mutating func slow(_ author: Party, _ role: Role, in state: RoomBook.State) throws(Problem) {
    let seconds = state.room.settings.slowModeSeconds
    guard seconds > 0, role < .moderator else { return }
    if let last = rooms.lastSaid(author.id, in: state.room.id) {
      let next = last + .seconds(seconds)
      if time < next { throw Problem.slow(Int((next.milliseconds - time.milliseconds + 999) / 1_000)) }
    }
    rooms.said(author.id, in: state.room.id, at: time, seconds: seconds)
  }

  /// Whoever speaks appears: presence precedes the first message of an author
  /// that a large room has not shown.
  private mutating func appear(_ author: Party, in room: Room) {
    guard let occupants = rooms.occupants(of: room.id), let key = occupants.key(of: author.id),
      occupants.byKey[key]?.isShown == false,
      let occupant = rooms.occupy(room.id, { $0.set(isShown: true, key: key) })
    else { return }
    tell(.occupant(occupantPresence(of: occupant, in: room), except: nil))
  }

  // MARK: Topic

  mutating func topic(
    _ post: Post, _ reference: RoomReference, _ text: String, _ draft: RoomMessageDraft?, _ writer: any StoreWriter
  ) throws {
    let isXMPP = draft != nil
    let state =
      try isXMPP ? find(reference, for: post.author, writer) : findAsMember(reference, for: post.author, writer).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state, writer)
    // 8.1: `forbidden`.
    guard speaker.role == .moderator || (speaker.role == .participant && state.room.settings.participantsSetTopic)
    else { throw Problem.notModerator }
    if text.utf8.count > Limits.topicBytesMax {
      throw Problem(.tooLarge, "topic-too-long", "A topic has at most \(Limits.topicBytesMax) bytes.", field: "topic")
    }
    appear(post.author, in: state.room)
    let nick = try nick(of: speaker, post, in: state, writer)
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
    let entry = try note(.topic(topic), by: post.author, in: state, stanza: stanza, writer)
    tell(.entry(entry, author: session(of: post)))
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    settle(post, receipt)
  }

  // MARK: What is not kept

  mutating func overhear(
    _ post: Post, _ reference: RoomReference, _ stanza: RelayedStanza, _ writer: any StoreWriter
  ) throws {
    let isXMPP = session(of: post) != nil
    let state =
      try isXMPP ? find(reference, for: post.author, writer) : findAsMember(reference, for: post.author, writer).state
    try checkSeat(post, in: state, isXMPP: isXMPP)
    let speaker = try speaker(post, in: state, writer)
    if speaker.role < .participant { throw Problem.noVoice }
    let nick = try nick(of: speaker, post, in: state, writer)
    tell(.signal(heard(stanza, as: nick, in: state.room.name), state.room.id))
    settle(post)
  }

  private func heard(_ stanza: RelayedStanza, as nick: String, in room: RoomName) -> RelayedStanza {
    RelayedStanza(
      name: stanza.name, from: stanza.from, fromResource: nick, room: room, to: room.address, toResource: nil,
      id: stanza.id, language: stanza.language, extras: stanza.extras, typing: stanza.typing,
      isPrivate: stanza.isPrivate)
  }

  /// 7.5, and IQs between occupants (17.4).
  mutating func whisper(
    _ post: Post, _ reference: RoomReference, to nick: String, _ stanza: RelayedStanza, _ writer: any StoreWriter
  ) throws {
    let state = try find(reference, for: post.author, writer)
    try checkSeat(post, in: state, isXMPP: true)
    let speaker = try speaker(post, in: state, writer)
    guard let (_, key) = try? Self.nick(nick), let target = rooms.occupants(of: state.room.id)?.byKey[key] else {
      throw Problem.occupantUnknown
    }
    // An app's session takes no private messages, and answers no client.
    let seats = target.listeners
    let isRequest = if case .iq = stanza.name { true } else { false }
    if seats.isEmpty { throw Problem.noWhispers }
    if case .message(let type) = stanza.name, type != .error {
      let isAllowed =
        switch state.room.settings.whispers {
        case .anyone: true
        case .participants: speaker.role >= .participant
        case .moderators: speaker.role == .moderator
        case .none: false
        }
      // Moderators can always be asked.
      guard isAllowed || target.role == .moderator && state.room.settings.whispers != .none else {
        throw Problem.noWhispers
      }
      if try isBlocked(post.author, resource: stanza.fromResource, by: target.party, writer) { return settle(post) }
    }
    let heard = heard(stanza, as: try self.nick(of: speaker, post, in: state, writer), in: state.room.name)
    tell(.whisper(heard, to: isRequest ? Array(seats.suffix(1)) : seats))
    settle(post)
  }

  // MARK: Markers

  mutating func marker(
    _ post: Post, _ reference: RoomReference, _ draft: RoomMarkerDraft, _ writer: any StoreWriter
  ) throws {
    let reader = post.author
    let (state, _) = try findAsMember(reference, for: reader, writer)
    let told = !draft.isPrivate && state.room.memberCount <= Limits.markersToldMax
    if let stanza = draft.stanza, told, session(of: post) != nil {
      try checkSeat(post, in: state, isXMPP: true)
      // As it came, to those who are there: it is not in the archive. It may say
      // anything, so it takes voice.
      let speaker = try speaker(post, in: state, writer)
      if speaker.role >= .participant {
        let nick = try nick(of: speaker, post, in: state, writer)
        tell(
          .signal(
            RelayedStanza(
              name: .message(.groupchat), from: reader, fromResource: nick, room: state.room.name,
              to: state.room.address, toResource: nil, id: stanza.envelope.id, extras: stanza.content.extras),
            state.room.id))
      }
    }
    var receipt = Receipt(position: head)
    receipt.room = state.room
    guard var mark = try mark(of: reader.id, in: state, writer),
      let position = realms.position(of: draft.target, in: reader.realm),
      let target = try writer.entry(position, in: state.room.id)
    else {
      if draft.stanza != nil { return settle(post, receipt) }
      throw Problem(.missing, "message-unknown", "There is no such message in this dialog.", field: "read")
    }
    let was = draft.kind == .delivered ? mark.delivered : mark.displayed
    guard target.position > was else {
      receipt.isRepeat = true
      return settle(post, receipt)
    }
    if draft.kind == .displayed {
      let counting =
        target.position >= state.room.last
        ? (all: state.room.ordinal, own: mark.own)
        : try counted(upTo: target.position, by: reader.id, in: state, writer)
      mark.displayed = target.position
      mark.displayedOrdinal = counting.all
      mark.ownAtDisplayed = counting.own
    }
    if target.position > mark.delivered { mark.delivered = target.position }
    let superseded = mark.position
    mark.position = head.next
    let entry = try insert(
      .marker(
        Marker(
          kind: draft.kind, mark: mark, target: target.position, targetID: target.id, targetStanzaID: nil,
          stanza: nil, told: told, asked: false)),
      by: reader, in: state, feeds: told ? [] : [FeedRow(user: reader.id, traits: [.mark])], writer)
    rooms.remember(mark, in: state)
    try writer.put(mark, superseded: superseded)
    tell(.entry(entry, author: session(of: post)))
    receipt.position = head
    receipt.entry = entry
    receipt.room = state.room
    settle(post, receipt)
  }

  /// The store counts what it has: this batch's marks first.
  private mutating func counted(
    upTo position: Position, by reader: UserID, in state: RoomBook.State, _ writer: any StoreWriter
  ) throws -> (all: Int64, own: Int64) {
    if state.dirtyMarks.contains(reader), let mark = state.marks[reader] { try writer.put(mark, superseded: .zero) }
    return try writer.counting(in: state.room.id, upTo: position, by: reader)
  }
}
