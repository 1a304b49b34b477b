import Addresses

/// The rules and effects of messages and markers.
extension Judge {
  /// - Parameter isNeeded: whether its author may send it at the bound of the day's bytes (`StoredContent.needed`).
  mutating func message(_ post: Post, _ draft: MessageDraft, isNeeded: Bool = false) throws {
    var author = post.author
    var peer = try reachable(draft.to, for: author)
    try checkBlocks(author, resource: draft.envelope.fromResource, peer)
    try checkResource(draft.envelope, of: peer)
    try checkMayWrite(author, to: peer)
    try checkStranger(author, peer.address)
    try checkOutbox(from: author, to: peer)
    author = try known(author)
    peer = try known(peer, metBy: author)
    let (state, isNew) = try dialog(of: author, and: peer)

    if let receipt = try repeated(draft.key, by: author, in: state.dialog.id) { return settle(post, receipt) }
    let isApp = draft.traits.contains(.fromApp)
    let (said, forwarded) = try forwarding(draft.forward, draft.content, by: author, into: nil)
    let (content, blobs) = try attached(said, by: author, isApp: isApp)
    let mentions = try Self.mentions(draft.mentions, of: content, isApp: isApp) { address in
      guard let party = [author, peer].first(where: { JID($0.address) == address }) else { return nil }
      return (party, .address)
    }
    let found = try draft.reference.flatMap {
      try resolve(
        $0, text: content.text, mentions: mentions, id: draft.envelope.id, by: author, others: [peer],
        in: state.dialog.id, realm: author.realm, mayModerate: false, isApp: isApp)
    }
    try stores(
      content, draft.envelope, found?.reference, mentions: mentions.count, isNeeded: isNeeded, by: author, post)
    let entry = try insertMessage(
      from: author, at: .peer(peer), in: state, content: content, envelope: draft.envelope, traits: draft.traits,
      key: draft.key, reference: found?.reference, answering: found?.answered, mentions: mentions,
      forwarded: forwarded)
    if isNew, !entry.fact.isShown { try unlist(state) }
    try follow(entry, post, found, blobs, mentions, draft.envelope) {
      try $0.insertMessage(
        from: author, at: .peer(peer), in: state, content: $1, envelope: $2, traits: $3.union(.replayed), key: nil,
        reference: $4, mentions: $5)
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    settle(post, receipt)
  }

  /// Carries out the consequences of a new message in a dialog of either kind, and tells of it: its files, the message
  /// that it refers to, mentions, and further entries if it has several files or retracts one that had.
  ///
  /// - Parameters:
  ///   - room: the room whose members are owed pushes; `nil` for a private dialog, whose peer is already.
  ///   - insert: inserts a further entry of the same author.
  mutating func follow(
    _ entry: Entry, _ post: Post, _ found: ResolvedReference?, _ blobs: Set<BlobID>, _ mentions: [Mention],
    _ envelope: Envelope, in room: Room? = nil,
    insert: (inout Judge, Content, Envelope, Message.Traits, Reference, [Mention]) throws -> Entry
  ) throws {
    try refer(to: blobs, by: entry)
    if let found { try fold(found, in: entry.dialog) }
    try count(mentions, of: entry, found?.reference, resource: envelope.fromResource)
    if let room { try owe(entry, in: room, answering: found?.answered) }
    tell(.entry(entry, author: session(of: post)))
    for part in parts(of: entry, found, in: entry.author.realm) {
      let further = try insert(&self, part.content, envelope.ofPart, Bundle.traits, part.reference, part.mentions)
      tell(.entry(further, author: session(of: post)))
    }
    guard let found else { return }
    try takeBackParts(found, by: entry.author) {
      try insert(&$0, Content(kind: .none), Envelope(type: .chat), [.archived, .fromApp, .part], $1, [])
    }
  }

  /// Keeps a dialog that begins with what apps do not show out of their lists, until something is shown in it: so are
  /// private messages of rooms elsewhere, which have one dialog for each room.
  private mutating func unlist(_ state: DialogState) throws {
    for party in [state.dialog.first, state.dialog.second] where !party.realm.isRemote {
      try writer.clear(state.dialog.id, upTo: .zero, leaves: true, for: party.id)
    }
  }

  /// Returns the receipt of the first message with this key; `nil` if it is no repeat.
  mutating func repeated(
    _ key: RepeatKey?, by author: Party, in dialog: DialogID
  ) throws -> Receipt? {
    guard let key, let before = try writer.find(key.id, by: author.id, in: dialog) else { return nil }
    if before.bodyHash == key.bodyHash {
      var receipt = Receipt(position: head)
      receipt.isRepeat = true
      receipt.entry = try writer.entry(before.position, in: .server(dialog, .rules))
      return receipt
    }
    guard key.rule == .app else { return nil }
    throw Problem(
      .conflict, "client-id-reused", "This clientId was used for another message in this dialog.", field: "clientId")
  }

  /// Checks the addressed resource (RFC 6121 8.5.3.2.1): if it is gone, a `chat` message goes to the others, but a
  /// `normal` one was for that resource alone and is refused.
  private func checkResource(_ envelope: Envelope, of peer: Party) throws {
    guard envelope.type == .normal, let resource = envelope.toResource, !peer.realm.isRemote,
      !hub.onlineSessions(of: peer.id).contains(where: { $0.resource == resource })
    else { return }
    throw Problem.unreachable
  }

  /// Inserts a message between two users; `place` contains the recipient.
  ///
  /// - Parameter past: the archives that contain an imported message, of which nobody is told; `nil` for a new one.
  mutating func insertMessage(
    from author: Party, at place: Entry.Place, in state: DialogState, content: Content, envelope: Envelope,
    traits: Message.Traits, key: RepeatKey?, reference: Reference? = nil, answering answered: UserID? = nil,
    mentions: [Mention] = [], forwarded: Forwarded? = nil, past: (author: Bool, peer: Bool)? = nil
  ) throws -> Entry {
    let position = nextPosition()
    let changes = reference?.changes ?? false
    // A message that changes an earlier one does not count itself.
    let traits = changes ? traits.subtracting([.counts]) : traits
    let isPart = traits.contains(.part)
    let isShown = content.kind != .none && content.kind != .invitation && !changes && !isPart
    if isShown { state.dialog.sequence += 1 }
    if traits.contains(.counts) {
      state.dialog.ordinal += 1
      var mark = state.mark(of: author.id)
      mark.own += 1
      setMark(mark, in: state)
    }
    state.dialog.end(at: position, isShown: isShown)
    touch(state)
    let entry = Entry(
      position: position, time: time, dialog: state.dialog.id, author: author, place: place,
      fact: .message(
        Message(
          sequence: isShown ? state.dialog.sequence : 0, content: content, envelope: envelope, traits: traits,
          reference: reference, mentions: mentions, forwarded: forwarded)),
      id: realms.entryID(position, in: author.realm))
    let archived =
      try past
      ?? (traits.contains(.archived) ? archived(envelope, by: author, at: place) : (author: false, peer: false))
    var row: FeedRow.Traits = []
    // Private messages of rooms are not for apps, and in no list of dialogs.
    let isEvent = isShown || changes || content.kind == .invitation
    if state.dialog.kind == .whispered || !isEvent || isPart { row.insert(.unfollowed) }
    // Only local users have feeds.
    var feeds =
      author.realm.isRemote ? [] : [FeedRow(user: author.id, traits: archived.author ? row.union(.archived) : row)]
    let peer = state.dialog.peer(of: author.id)
    if peer.id != author.id, !peer.realm.isRemote {
      row.insert(.inbound)
      if archived.peer { row.insert(.archived) }
      if traits.contains(.replayed) { row.insert(.replayed) }
      feeds.append(FeedRow(user: peer.id, traits: row))
    }
    try writer.insert(entry, feeds: feeds, key: key)
    guard past == nil else { return entry }
    try owe(entry, to: peer)
    try owe(entry, answering: answered)
    return entry
  }

  // MARK: Markers

  mutating func marker(_ post: Post, _ draft: MarkerDraft) throws {
    let reader = post.author
    let peer = try reachable(draft.with, for: reader)
    // A private marker does not reach the other user.
    if !draft.isPrivate {
      try checkBlocks(reader, resource: draft.stanza?.envelope.fromResource, peer)
      try checkOutbox(from: reader, to: peer)
    }
    // A marker begins no dialog: in a new one there is nothing to mark.
    let stored = try storedDialog(of: reader, and: peer)
    let found = try stored.flatMap { state in try resolve(draft.target, by: peer, in: state, for: reader) }
    // A stanza may contain anything, so it is heard where a message is, or where it answers one of the peer's.
    if draft.stanza != nil, found?.author.id != peer.id {
      try checkMayWrite(reader, to: peer)
      try checkStranger(reader, peer.address)
    }
    guard let state = stored, let target = found, case .message(let message) = target.fact else {
      guard let stanza = draft.stanza else {
        throw Problem.messageUnknown(field: draft.kind.field)
      }
      return try relay(post, stanza, kind: draft.kind, to: peer, in: stored)
    }
    try move(post, draft, to: target, message, of: peer, in: state)
  }

  /// Moves the author's mark. A mark only moves forward; a late or repeated marker changes nothing.
  private mutating func move(
    _ post: Post, _ draft: MarkerDraft, to target: Entry, _ message: Message, of peer: Party, in state: DialogState
  ) throws {
    let reader = post.author
    var mark = state.mark(of: reader.id)
    let was = draft.kind == .delivered ? mark.delivered : mark.displayed
    var receipt = Receipt(position: head)
    let isSaidNow = try draft.kind == .displayed && !draft.isPrivate && isUntold(mark, at: target.position)
    guard target.position > was || isSaidNow else {
      if let stanza = draft.stanza { return try relay(post, stanza, kind: draft.kind, to: peer, in: state) }
      receipt.isRepeat = true
      return settle(post, receipt)
    }
    if draft.kind == .displayed { try display(target, message, by: reader, &mark, in: state) }
    // A displayed message is also delivered.
    if target.position > mark.delivered { mark.delivered = target.position }
    let hidesRead = try draft.kind == .delivered && self.hidesRead(mark)
    let superseded = mark.position
    let position = nextPosition()
    mark.position = position
    setMark(mark, in: state)
    state.dialog.end(at: position)
    try writer.put(mark, superseded: superseded)

    let asked = try asking(
      draft.kind, target, message, isStanza: draft.stanza != nil, by: peer, behind: was, for: reader)
    let mayTell = try asked != nil && (writer.contact(of: reader.id, peer.address)?.subscription.from ?? false)
    let stanza = draft.stanza.map {
      Message(sequence: 0, content: $0.content, envelope: $0.envelope, traits: $0.traits)
    }
    let entry = Entry(
      position: position, time: time, dialog: state.dialog.id, author: reader, place: .peer(peer),
      fact: .marker(
        Marker(
          kind: draft.kind, mark: mark, target: (asked?.entry ?? target).position,
          targetID: (asked?.entry ?? target).id,
          targetStanzaID: Envelope.kept((asked?.message ?? message).envelope.id),
          stanza: stanza, told: !draft.isPrivate, asked: !draft.isPrivate && mayTell, hidesRead: hidesRead)),
      id: realms.entryID(position, in: reader.realm))
    let feeds = try markerFeeds(stanza, isPrivate: draft.isPrivate, by: reader, to: peer)
    try writer.insert(entry, feeds: feeds, key: nil)
    if !draft.isPrivate { try owe(marker: entry, stanza, asked: mayTell, to: peer) }
    tell(.entry(entry, author: session(of: post)))
    if draft.kind == .displayed, !isSaidNow {
      // XMPP clients have displayed all stanzas of the message.
      let last = realms.entryID(target.position + message.parts, in: reader.realm)
      try tellDisplayed(last, of: peer.address, by: reader)
    }
    receipt.position = head
    receipt.entry = entry
    settle(post, receipt)
  }

  /// Notes in a mark that the reader has seen a message, and what was unread up to it.
  private func display(
    _ target: Entry, _ message: Message, by reader: Party, _ mark: inout Mark, in state: DialogState
  ) throws {
    let counting =
      message.sequence == state.dialog.sequence
      ? (all: state.dialog.ordinal, own: mark.own)
      : try writer.counting(
        in: state.dialog.id, upTo: target.position, by: reader.id, looksMax: Limits.ownLooksMax)
    mark.displayed = target.position
    // What has gone from the reader's view by its age counts as read already.
    if counting.all >= mark.displayedOrdinal {
      if mark.hidden > 0 {
        mark.hidden = try writer.hiddenCount(of: reader.id, in: state.dialog.id, after: target.position)
      }
      mark.displayedOrdinal = counting.all
      mark.ownAtDisplayed = counting.own
    }
  }

  /// Returns the rows of a marker in the feeds of both users.
  private mutating func markerFeeds(
    _ stanza: Message?, isPrivate: Bool, by reader: Party, to peer: Party
  ) throws -> [FeedRow] {
    var archived = (author: false, peer: false)
    if let stanza, stanza.traits.contains(.archived) {
      archived = try self.archived(stanza.envelope, by: reader, at: .peer(peer))
    }
    var feeds =
      reader.realm.isRemote ? [] : [FeedRow(user: reader.id, traits: archived.author ? [.mark, .archived] : [.mark])]
    if !isPrivate, peer.id != reader.id, !peer.realm.isRemote {
      feeds.append(FeedRow(user: peer.id, traits: archived.peer ? [.mark, .archived, .inbound] : [.mark, .inbound]))
    }
    return feeds
  }

  /// Adds a marker to what a user elsewhere must get. The stanza of an XMPP client is kept as it is: a later marker, which
  /// replaces the entry, may be about another message. One that the door renders is replaced with it.
  private mutating func owe(marker entry: Entry, _ stanza: Message?, asked: Bool, to peer: Party) throws {
    guard isElsewhere(peer) else { return }
    if let stanza {
      try send(Self.relayed(stanza, from: entry.author, to: peer), to: peer, at: entry.position, by: nil)
    } else if asked {
      try owe(entry, to: peer)
    }
  }

  private static func relayed(_ stanza: Message, from author: Party, to peer: Party) -> RelayedStanza {
    RelayedStanza(
      name: .message(stanza.envelope.type), from: author, fromResource: stanza.envelope.fromResource, to: peer.address,
      toResource: stanza.envelope.toResource, id: stanza.envelope.id, language: stanza.envelope.language,
      extras: stanza.content.extras, isPrivate: stanza.traits.contains(.uncopied))
  }

  /// Returns the message whose author is told: the last that the mark passes, that the peer wrote and that requests it
  /// (XEP-0184 5.3, XEP-0333 4.2). An app marks up to the last message of any kind, its own included; a stanza names
  /// its message itself.
  private func asking(
    _ kind: Marker.Kind, _ target: Entry, _ message: Message, isStanza: Bool, by peer: Party, behind was: Position,
    for reader: Party
  ) throws -> (entry: Entry, message: Message)? {
    if reader.id == peer.id { return nil }
    let asks: Message.Traits = kind == .displayed ? .markable : .receipted
    if target.author.id == peer.id, message.traits.contains(asks) { return (target, message) }
    if isStanza { return nil }
    for entry in try writer.history(
      of: .server(target.dialog, .rules), after: was, before: target.position, limit: Limits.markersLookBack,
      ascending: false, looksMax: Limits.markerLooksMax)
    where entry.author.id == peer.id {
      if case .message(let message) = entry.fact, message.traits.contains(asks) { return (entry, message) }
    }
    return nil
  }

  private mutating func resolve(
    _ target: MarkerDraft.Target, by peer: Party, in state: DialogState, for reader: Party
  ) throws -> Entry? {
    try whole(try find(target, by: peer, in: state, for: reader))
  }

  private func find(
    _ target: MarkerDraft.Target, by peer: Party, in state: DialogState, for reader: Party
  ) throws -> Entry? {
    switch target {
    case .entry(let id):
      guard let position = realms.position(of: id, in: reader.realm) else { return nil }
      return try writer.entry(position, in: .server(state.dialog.id, .rules))
    case .stanza(let id):
      if let found = try writer.find(id, by: peer.id, in: state.dialog.id) {
        return try writer.entry(found.position, in: .server(state.dialog.id, .rules))
      }
      // Clients that answer an app's message use its public id, which is the stanza's id there.
      guard let id = PublicID(id), let position = realms.position(of: id, in: reader.realm) else { return nil }
      return try writer.entry(position, in: .server(state.dialog.id, .rules))
    }
  }

  /// Relays a marker whose target is unknown or that moves nothing: it has no effect, but the stanza is never dropped.
  ///
  /// - Parameter state: their dialog, which keeps it; `nil` if there is none.
  private mutating func relay(
    _ post: Post, _ stanza: (content: Content, envelope: Envelope, traits: Message.Traits), kind: Marker.Kind,
    to peer: Party, in state: DialogState?
  ) throws {
    if let state, kind == .displayed || stanza.traits.contains(.archived) {
      try stores(stanza.content, stanza.envelope, by: post.author, post)
      let entry = try insertMessage(
        from: post.author, at: .peer(peer), in: state, content: stanza.content, envelope: stanza.envelope,
        traits: stanza.traits, key: nil)
      tell(.entry(entry, author: session(of: post)))
    } else {
      let stanza = Message(
        sequence: 0, content: stanza.content, envelope: stanza.envelope, traits: stanza.traits)
      try send(Self.relayed(stanza, from: post.author, to: peer), to: peer, by: session(of: post))
    }
    settle(post)
  }
}
