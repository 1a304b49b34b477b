public import Addresses
public import Basics

/// A thing that a user had on another server, and that the posts of users cannot say.
public enum ImportIntent: Sendable {
  /// Adds a roster item. `Receipt.isRepeat` means that there is one already, and `isKept` that it is another one.
  case contact(ImportedContact)
  /// Adds a subscription request that waits for the author's answer; `stanza` as in `Intent.subscription`.
  case request(from: BareJID, stanza: [UInt8]?)
  /// Adds a message of the past. `Receipt.isRepeat` tells that the log has it already, and `isKept` that it was removed.
  case message(ImportedMessage)
  /// Makes a slot for a file, which `UserFiles.takeImported` fills. `Receipt.isRepeat` tells that it is filled.
  case file(ImportedFile)
  /// Makes a room. `Receipt.isRepeat` tells that there is one at its address.
  case room(ImportedRoom)
  /// Sets an affiliation, and a nick, of somebody who has none in the room. `Receipt.isRepeat` tells that they have one.
  case roomPerson(ImportedRoomPerson)
  /// Adds a message of the past to a room. `Receipt.isRepeat` tells that the log has it already.
  case roomMessage(ImportedRoomMessage)
}

/// A roster item with its subscriptions, which were agreed on elsewhere.
public struct ImportedContact: Sendable {
  public var address: BareJID
  public var name: String?
  public var groups: [String]
  public var subscription: Subscription

  public init(address: BareJID, name: String?, groups: [String], subscription: Subscription) {
    self.address = address
    self.name = name
    self.groups = groups
    self.subscription = subscription
  }
}

extension ImportedContact {
  /// Whether a roster item says the same.
  ///
  /// - Parameter isNobodys: whether its address is one of this server without an account.
  public func isAs(_ here: Contact, isNobodys: Bool) -> Bool {
    let expected = isNobodys ? Subscription.none : subscription
    return name == here.name && Set(groups) == Set(here.groups)
      && expected.keepingRequest(of: here.subscription).listed == here.subscription
  }
}

/// A message of the past between the post's author and another user.
public struct ImportedMessage: Sendable {
  /// The time at which the former server took it.
  public var time: Timestamp
  /// The other user: the addressee, or the author of an inbound message. The author's own address for notes to oneself.
  public var peer: BareJID
  /// Whether the other user has written it.
  public var isInbound: Bool
  /// The content; `to` is ignored.
  public var draft: MessageDraft
  /// Whether the archives of its author and of its addressee have it.
  public var isInArchive: (author: Bool, addressee: Bool)
  /// Whether the addressee has not received it yet: only then it is unread, and sent to a client that reads no archive.
  public var isOffline: Bool

  public init(
    time: Timestamp, peer: BareJID, isInbound: Bool, draft: MessageDraft,
    isInArchive: (author: Bool, addressee: Bool), isOffline: Bool
  ) {
    self.time = time
    self.peer = peer
    self.isInbound = isInbound
    self.draft = draft
    self.isInArchive = isInArchive
    self.isOffline = isOffline
  }
}

extension Intent {
  /// The time of the history that this imports.
  fileprivate var past: Timestamp? {
    guard case .imported(let imported) = self else { return nil }
    return switch imported {
    case .message(let message): message.time
    case .roomMessage(let message): message.time
    case .room(let room): room.time
    case .contact, .request, .file, .roomPerson: nil
    }
  }
}

extension Parley {
  /// Makes way in the log for history that is posted next (`Judge.makeWay`), where a single post would hold up all others
  /// for long: the entries behind the last one of a conversation get the earlier time in pieces, each a transaction.
  ///
  /// The pieces go from the first entry to the last, so that time never decreases with position after any of them, and it
  /// does not matter where they end: whatever is left, a post does.
  public func makeWay(for intents: [Intent]) async throws(Problem) {
    try await makeWay(for: intents, atOnce: Limits.timesSetAtOnce)
  }

  func makeWay(for intents: [Intent], atOnce count: Int) async throws(Problem) {
    let times = intents.compactMap(\.past)
    guard let latest = times.max() else { return }
    let found = try await read { reader -> (head: Position, start: Position, past: Timestamp)? in
      // A repeated import ends here, without a look at what is behind the history.
      if try reader.hasConversation(behind: reader.position(before: latest + .milliseconds(1))) { return nil }
      let (head, end) = (try reader.head().position, try reader.endOfConversations())
      guard let past = times.filter({ $0 >= end.time }).min() else { return nil }
      // An import that was ended goes on where it was, and one whose records were refused begins no second time.
      let start = try max(end.position, reader.position(before: past + .milliseconds(1)))
      return head.number - start.number > Int64(count) ? (head: head, start: start, past: past) : nil
    }
    guard let (head, start, past) = found else { return }
    var done = start
    while done < head {
      let (first, last) = (done, min(head, Position(done.number + Int64(count))))
      let isFree = try await work(keepingCaches: true) { writer -> Bool in
        // A room may have begun whose first notice is among these entries.
        if try writer.hasConversation(behind: head) { return false }
        try writer.setTimes(behind: first, through: last, to: past)
        return true
      }
      if !isFree { return }
      done = last
    }
  }
}

/// The rules of imports (docs/decisions/0036): what a user had elsewhere becomes entries like their own, but nobody is
/// told, no push is sent, and no other server hears of it.
extension Judge {
  mutating func imported(_ post: Post, _ intent: ImportIntent) throws {
    switch intent {
    case .contact(let contact): try importContact(post, contact)
    case .request(let address, let stanza): try importRequest(post, from: address, stanza: stanza)
    case .message(let message): try importMessage(post, message)
    case .file(let file): try importFile(post, file)
    case .room(let room): try importRoom(post, room)
    case .roomPerson(let person): try importRoomPerson(post, person)
    case .roomMessage(let message): try importRoomMessage(post, message)
    }
  }

  private mutating func importMessage(_ post: Post, _ imported: ImportedMessage) throws {
    let owner = post.author
    try checkPast(imported.time)
    if let receipt = try named(imported, of: owner) { return settle(post, receipt) }
    let peer = try correspondent(imported.peer, of: owner)
    if imported.time <= lastTime, let entry = try known(imported, of: owner, with: peer) {
      var receipt = Receipt(position: head)
      receipt.isRepeat = true
      receipt.entry = entry
      return settle(post, receipt)
    }
    try checkOrder(imported.time)
    let stored = try stored(peer)
    let (author, addressee) = imported.isInbound ? (stored, owner) : (owner, stored)
    let (state, _) = try dialog(of: author, and: addressee)
    let entry = try at(imported.time) { (judge: inout Judge) in
      let draft = imported.draft
      let found = try draft.reference.flatMap {
        try judge.resolve(
          $0, text: draft.content.text, mentions: [], id: draft.envelope.id, by: author, others: [addressee],
          in: state.dialog.id, realm: owner.realm, mayModerate: false, isApp: false)
      }
      var traits = draft.traits.subtracting([.counts, .replayed])
      if imported.isOffline { traits.formUnion(draft.traits.intersection([.counts, .replayed])) }
      let (content, blobs) = try judge.attached(draft.content, by: author, isApp: false)
      let entry = try judge.insertMessage(
        from: author, at: .peer(addressee), in: state, content: content, envelope: draft.envelope,
        traits: traits, key: draft.key, reference: found?.reference,
        past: (imported.isInArchive.author, imported.isInArchive.addressee))
      try judge.refer(to: blobs, by: entry)
      if let found { try judge.fold(found, in: entry.dialog) }
      return entry
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    settle(post, receipt)
  }

  func checkPast(_ past: Timestamp) throws(Problem) {
    guard past <= time else {
      throw Problem(.malformed, "time-in-future", "The message is of \(past), which is yet to come.", field: "time")
    }
  }

  mutating func checkOrder(_ past: Timestamp) throws {
    if let last = try makeWay(for: past) { throw Problem.historyTooLate(past, last: last) }
  }

  /// Returns the other user of a message of the past: one of the author's realm, or one elsewhere, who is provisional if
  /// they are not stored. Whether the domain can be reached now does not matter.
  private mutating func correspondent(_ address: BareJID, of owner: Party) throws -> Party {
    if address == owner.address { return owner }
    guard let realm = realms.realm(domain: address.domain, reachedFrom: owner.realm) else {
      throw Problem(
        .malformed, "not-a-user", "\(address) is no user: private messages of rooms are not taken.", field: "peer")
    }
    if let known = try user(address, seenFrom: owner.realm), known.state != .deleted { return known.party }
    guard realm.id.isRemote else { throw Problem.userUnknown(address, field: "peer") }
    return Party(remote: address, realm: realm.id)
  }

  /// Returns the stored user, storing one who is new. Their number is not bounded: they are of the operator's own file.
  mutating func stored(_ party: Party, as profile: Profile = Profile()) throws -> Party {
    guard party.isProvisional else { return party }
    let made = try writer.insertUser(party.address, in: party.realm, profile: profile, createdAt: time).party
    users[SeenAddress(address: party.address, home: realms.home(of: party.realm))] = CachedUser(
      party: made, state: .active)
    return made
  }

  /// Returns the receipt for a message whose id is that of an entry of this server, as exports name each message that has
  /// no id of its own: a repeat, and kept if the entry was removed since; `nil` for any other id, and for that of an entry
  /// of another time or between other people.
  ///
  /// No other server makes such an id by chance: it is a block that only this realm's key encrypts, of whose 128 bits half
  /// are fixed (`Sealer`). A copy of this server has the same key and counts on from the same number, hence the time.
  private func named(_ imported: ImportedMessage, of owner: Party) throws -> Receipt? {
    guard let id = imported.draft.envelope.id.flatMap({ PublicID($0) }),
      let position = realms.position(of: id, in: owner.realm), position > .zero, position <= head
    else { return nil }
    var receipt = Receipt(position: head)
    receipt.isRepeat = true
    if let entry = try writer.entry(at: position, for: .rules) {
      guard case .peer(let addressee) = entry.place, entry.time == imported.time else { return nil }
      let (author, other) = imported.isInbound ? (imported.peer, owner.address) : (owner.address, imported.peer)
      guard entry.author.address == author, addressee.address == other else { return nil }
      receipt.entry = entry
    } else {
      receipt.isKept = true
    }
    return receipt
  }

  /// Returns the entry of a message that the log has already: of the same time, author, id and content. If the author is at
  /// another server and has given an id, the text is enough: that server may have added ids and times to the stanza, which
  /// an import leaves out.
  private func known(_ imported: ImportedMessage, of owner: Party, with peer: Party) throws -> Entry? {
    guard !peer.isProvisional,
      let dialog = try writer.dialog(between: min(owner.id, peer.id), and: max(owner.id, peer.id))
    else { return nil }
    let author = imported.isInbound ? peer : owner
    let (content, envelope) = (imported.draft.content, imported.draft.envelope)
    return try entry(at: imported.time, in: dialog.id) { entry in
      guard entry.author.id == author.id, let message = entry.fact.stanza, message.envelope == envelope else {
        return false
      }
      if message.content.extras == content.extras || entry.state?.retraction != nil { return true }
      // Only for such an author: of a local one there may be two unlike copies, each for one of two archives.
      guard author.realm.isRemote, envelope.id != nil, !content.text.isEmpty else { return false }
      return message.content.text == content.text
    }
  }

  /// Returns the first entry of a dialog that has this time and is `wanted`.
  func entry(at past: Timestamp, in dialog: DialogID, _ wanted: (Entry) -> Bool) throws -> Entry? {
    let first = try writer.position(before: past).next
    let last = try writer.position(before: past + .milliseconds(1))
    guard first <= last else { return nil }
    let found = try writer.entries(
      of: .server(dialog, .rules), at: first...last, limit: Limits.importedAtOnceMax)
    if let entry = found.first(where: wanted) { return entry }
    guard found.count < Limits.importedAtOnceMax else {
      throw Problem(.tooLarge, "too-many-at-once", "Too many messages are of \(past).", field: "time")
    }
    return nil
  }
}

extension Problem {
  fileprivate static func historyTooLate(_ time: Timestamp, last: Timestamp) -> Problem {
    Problem(
      .conflict, "history-too-late",
      "The message is of \(time), and this server already has newer messages (up to \(last)). History is imported before "
        + "anything newer is written; use --no-history to import the rest.",
      field: "time")
  }
}
