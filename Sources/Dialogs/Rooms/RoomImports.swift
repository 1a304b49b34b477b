public import Addresses
public import Basics

/// A room that was on another server.
public struct ImportedRoom: Sendable {
  public var address: BareJID
  /// Changes of the settings of an instant room. The room is persistent in any case: nobody is in it yet.
  public var settings: SettingsDraft
  /// The owners, of whom the first that is known becomes the author of its first entry.
  public var owners: [BareJID]
  public var topic: String
  public var topicNick: String?
  /// The time of its first message; `nil` if there is none.
  public var time: Timestamp?

  public init(
    address: BareJID, settings: SettingsDraft, owners: [BareJID], topic: String, topicNick: String?, time: Timestamp?
  ) {
    self.address = address
    self.settings = settings
    self.owners = owners
    self.topic = topic
    self.topicNick = topicNick
    self.time = time
  }
}

extension ImportedRoom {
  /// Whether a room that is here says the same, in what the other server had of it.
  public func isAs(_ here: Room) -> Bool {
    var expected = here.settings
    settings.apply(&expected)
    // Whatever it was there, an imported room is persistent.
    expected.lifetime = here.settings.lifetime
    return expected == here.settings && (topic.isEmpty || topic == here.topic?.text)
  }
}

public struct ImportedRoomPerson: Sendable {
  public var room: BareJID
  /// The affiliation `outcast` may be that of an address that is no user's, or of a domain.
  public var member: MemberDraft

  public init(room: BareJID, member: MemberDraft) {
    self.room = room
    self.member = member
  }
}

/// A message of the past in a room.
public struct ImportedRoomMessage: Sendable {
  public var room: BareJID
  public var time: Timestamp
  public var nick: String
  /// `nil` if the former server's archive does not tell whose the nick was.
  public var author: BareJID?
  /// The text of a topic, if the message set one.
  public var topic: String?
  public var draft: RoomMessageDraft

  public init(
    room: BareJID, time: Timestamp, nick: String, author: BareJID?, topic: String?, draft: RoomMessageDraft
  ) {
    self.room = room
    self.time = time
    self.nick = nick
    self.author = author
    self.topic = topic
    self.draft = draft
  }
}

/// The rules of rooms that come from another server (docs/decisions/0036): nobody is told, and no bookmarks are written,
/// because people bring their own.
extension Judge {
  mutating func importRoom(_ post: Post, _ imported: ImportedRoom) throws {
    let realm = try realm(ofRooms: imported.address)
    if let known = try importedRoom(at: imported.address) {
      if known.room.isDestroyed { throw Problem.roomDestroyed }
      return settle(post, receipt(known, isRepeat: true))
    }
    var settings = RoomSettings.instant
    imported.settings.apply(&settings)
    settings.lifetime = .persistent
    try check(settings, in: realm.id)
    let localpart = try Self.roomName(of: imported.address)
    if rooms.leases[imported.address] != nil { throw Problem.roomTaken }
    try PlainText.check(imported.topic, field: "topic")
    guard imported.topic.utf8.count <= Limits.topicBytesMax else {
      throw Problem(.tooLarge, "topic-too-long", "A topic has at most \(Limits.topicBytesMax) bytes.", field: "topic")
    }
    guard let first = try firstKnown(imported.owners, in: realm.id) else {
      throw Problem(
        .missing, "owner-unknown", "None of its owners has an account here, so nobody could keep it.", field: "owner")
    }
    // Where something newer was said, its messages are refused, but it is not.
    let past = min(imported.time ?? time, time)
    let moment = try makeWay(for: past) == nil ? past : lastTime
    try at(moment) { (judge: inout Judge) in
      let state = judge.rooms.put(
        try judge.writer.insertRoom(
          localpart: localpart, in: realm.id, externalID: nil, settings: settings, createdAt: judge.time))
      if !imported.topic.isEmpty {
        state.room.topic = Topic(text: imported.topic, nick: imported.topicNick, time: judge.time)
      }
      let owner = try judge.stored(first)
      state.room.memberCount = 1
      let created = try judge.note(.created, by: owner, in: state)
      state.room.version = created.position
      judge.rooms.changed(state)
      try judge.store(
        Member(
          room: state.room.id, party: owner, affiliation: .owner, nick: nil, since: created.position.previous,
          joinedAt: judge.time, version: created.position), in: state)
      judge.settle(post, judge.receipt(state))
    }
  }

  @discardableResult static func roomName(of address: BareJID) throws(Problem) -> String {
    guard let localpart = address.local, localpart.utf8.count <= Limits.roomNameBytesMax else {
      throw Problem(.malformed, "room-name-invalid", "This cannot be a room's name.", field: "jid")
    }
    return localpart
  }

  mutating func importRoomPerson(_ post: Post, _ imported: ImportedRoomPerson) throws {
    let realm = try realm(ofRooms: imported.room)
    guard let state = try importedRoom(at: imported.room), !state.room.isDestroyed else { throw Problem.roomUnknown }
    let draft = imported.member
    let affiliation = draft.affiliation ?? .member
    guard let party = try firstKnown([draft.address], in: realm.id) else {
      guard affiliation == .outcast else { throw Problem.userUnknown(draft.address, field: "jid") }
      return try importBan(post, draft, in: state)
    }
    let person = try stored(party)
    let was = try member(person.id, in: state)
    // Whoever has been given something else since keeps it.
    if let was, was.affiliation != affiliation || was.nick != nil || draft.nick == nil {
      return settle(post, receipt(state, isRepeat: true))
    }
    if affiliation.isMember, was == nil {
      guard state.room.memberCount < Limits.membersMax else { throw Problem.memberListFull }
      try checkRooms(of: person, for: person)
    }
    var nick: String?
    if affiliation.isMember, let wish = draft.nick {
      let (shown, key) = try Self.nick(wish)
      // Nicks that looked alike where the room comes from stay: each has been somebody's there.
      guard try isUnheld(key: key, for: person.id, in: state) else { throw Problem.nickTaken }
      nick = shown
    }
    if affiliation.isMember, was == nil { state.room.memberCount += 1 }
    state.room.version = head
    // Everything that was said is theirs to read, also where new members see nothing older than themselves.
    try store(
      Member(
        room: state.room.id, party: person, affiliation: affiliation, nick: nick ?? was?.nick,
        isNickRegistered: nick != nil, since: was?.since ?? .zero, joinedAt: was?.joinedAt ?? state.room.createdAt,
        version: head, reason: affiliation == .outcast ? Self.cut(draft.reason) : nil), in: state)
    state.outcasts = nil
    rooms.changed(state)
    settle(post, receipt(state))
  }

  /// Bans an address that is no user's.
  private mutating func importBan(_ post: Post, _ draft: MemberDraft, in state: RoomCache.State) throws {
    let known = try addressBans(in: state)
    let isRepeat = known.contains(draft.address.description)
    if !isRepeat {
      guard known.count < Limits.addressBansMax else { throw Problem.memberListFull }
      try store(AddressBan(address: draft.address, reason: Self.cut(draft.reason)), in: state)
    }
    settle(post, receipt(state, isRepeat: isRepeat))
  }

  mutating func importRoomMessage(_ post: Post, _ imported: ImportedRoomMessage) throws {
    try checkPast(imported.time)
    let realm = try realm(ofRooms: imported.room)
    guard let state = try importedRoom(at: imported.room), !state.room.isDestroyed else { throw Problem.roomUnknown }
    var envelope = imported.draft.envelope
    envelope.type = .groupchat
    envelope.fromResource = try Self.nick(imported.nick).nick
    envelope.toResource = nil
    if imported.time <= lastTime, let entry = try known(imported, envelope, in: state) {
      var receipt = receipt(state, isRepeat: true)
      receipt.entry = entry
      return settle(post, receipt)
    }
    try checkOrder(imported.time)
    if let topic = imported.topic, topic.utf8.count > Limits.topicBytesMax {
      throw Problem(.tooLarge, "topic-too-long", "A topic has at most \(Limits.topicBytesMax) bytes.", field: "topic")
    }
    let speaker = try author(of: imported, in: state.room, realm)
    let entry = try at(imported.time) { (judge: inout Judge) in
      let author = try judge.stored(speaker.party, as: speaker.profile)
      let (content, blobs) = try judge.attached(imported.draft.content, by: author, isApp: false)
      let traits = imported.draft.traits.subtracting([.counts])
      if let text = imported.topic {
        let topic = Topic(text: text, nick: envelope.fromResource, time: judge.time)
        state.room.topic = topic
        judge.rooms.changed(state)
        return try judge.note(
          .topic(topic), by: author, in: state,
          stanza: Message(sequence: 0, content: content, envelope: envelope, traits: traits))
      }
      let found = try imported.draft.reference.flatMap {
        try judge.resolve(
          $0, text: content.text, mentions: [], id: envelope.id, by: author, others: [], in: state.room.id,
          realm: realm.id, mayModerate: false, isApp: false)
      }
      let changes = found?.reference.changes ?? false
      let isShown = content.kind != .none && !changes && !traits.contains(.part)
      if isShown { state.room.sequence += 1 }
      let entry = try judge.insert(
        .message(
          Message(
            sequence: isShown ? state.room.sequence : 0, content: content, envelope: envelope, traits: traits,
            reference: found?.reference)), by: author, in: state)
      try judge.refer(to: blobs, by: entry)
      if let found { try judge.fold(found, in: entry.dialog) }
      return entry
    }
    var receipt = receipt(state)
    receipt.entry = entry
    settle(post, receipt)
  }

  // MARK: Pieces

  private func receipt(_ state: RoomCache.State, isRepeat: Bool = false) -> Receipt {
    var receipt = Receipt(position: head)
    receipt.isRepeat = isRepeat
    receipt.room = state.room
    return receipt
  }

  private func realm(ofRooms address: BareJID) throws(Problem) -> Realm {
    guard let realm = realms.realm(rooms: address.domain), !realm.id.isRemote else {
      throw Problem(
        .foreign, "domain-not-served",
        "\(address.domain) has no rooms here; the setting rooms.domain names theirs.", field: "jid")
    }
    return realm
  }

  private mutating func importedRoom(at address: BareJID) throws -> RoomCache.State? {
    if let id = rooms.numbers[address], let state = rooms.states[id] { return state }
    return try writer.room(at: address).map { rooms.put($0) }
  }

  /// Returns the first of these people who is a user of the realm, or of another server.
  private mutating func firstKnown(_ addresses: [BareJID], in home: RealmID) throws -> Party? {
    for address in addresses where address.local != nil {
      guard let realm = realms.realm(domain: address.domain, reachedFrom: home) else { continue }
      if let known = try user(address, seenFrom: home), known.state != .deleted { return known.party }
      if realm.id.isRemote { return Party(remote: address, realm: realm.id) }
    }
    return nil
  }

  /// Returns the author of a message. Where nobody can tell whose the nick was, and where the account is gone, a
  /// *former occupant* stands for them: a user elsewhere whom nobody can be, with the nick as their name.
  private mutating func author(
    of imported: ImportedRoomMessage, in room: Room, _ home: Realm
  ) throws -> (party: Party, profile: Profile) {
    if let party = try imported.author.flatMap({ try firstKnown([$0], in: home.id) }) { return (party, Profile()) }
    let (nick, key) = try Self.nick(imported.nick)
    // `.invalid` has no hosts (RFC 6761 6.4).
    guard let local = room.address.local, let elsewhere = realms.federated(of: home.id),
      let address = try? BareJID(
        local: Self.cut(local, Limits.nickBytesMax) + "-" + Hex.string(Array(key.utf8)),
        domain: "\(room.address.domain).invalid")
    else { throw Problem.nickInvalid }
    let known = try user(address, seenFrom: home.id)?.party
    return (
      known ?? Party(remote: address, realm: elsewhere.id),
      Profile(displayName: Self.cut(nick, Limits.displayNameBytesMax))
    )
  }

  private func known(
    _ imported: ImportedRoomMessage, _ envelope: Envelope, in state: RoomCache.State
  ) throws -> Entry? {
    try entry(at: imported.time, in: state.room.id) { entry in
      if case .message(let message) = entry.fact {
        return message.envelope == envelope
          && (message.content.extras == imported.draft.content.extras || entry.state?.retraction != nil)
      }
      if case .room(let change) = entry.fact, case .topic(let topic) = change.change {
        return topic.text == imported.topic
      }
      return false
    }
  }
}
