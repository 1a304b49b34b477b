import Addresses

/// The rules that all room intents share. Each intent is in a file beside this one: presence (`RoomPresence`), messages
/// (`RoomTalk`), people (`RoomPeople`), the room itself (`RoomMaking`, `RoomEnding`).
extension Judge {
  mutating func room(_ post: Post, _ intent: RoomIntent) throws {
    if let (address, isOccupants) = intent.unlocks, let lease = rooms.leases[address],
      lease.party.id == post.author.id, !isOccupants && !lease.isLocked || lease.session.id == session(of: post)
    {
      _ = try found(post, address, lease, SettingsDraft { $0 = .instant })
    }
    switch intent {
    case .create(let draft): try create(post, draft)
    case .introduce(let room, let password): try introduce(post, room, password: password)
    case .enter(let room, let entering): try enter(post, room, entering)
    case .show(let room, let presence): try show(post, room, presence)
    case .probe(let room, let nick): try probe(post, room, nick: nick)
    case .exit(let room, let presence): try exit(post, room, presence)
    case .say(let room, let draft): try say(post, room, draft)
    case .signal(let room, let stanza): try overhear(post, room, stanza)
    case .whisper(let room, let nick, let draft): try whisper(post, room, to: nick, draft)
    case .pass(let room, let nick, let stanza, let isQuestion):
      try pass(post, room, to: nick, stanza, isQuestion: isQuestion)
    case .face(let room, let nick): try face(post, room, of: nick)
    case .marker(let room, let draft): try marker(post, room, draft)
    case .members(let room, let drafts): try members(post, room, drafts)
    case .roles(let room, let drafts): try roles(post, room, drafts)
    case .configure(let room, let draft): try configure(post, room, draft)
    case .prepare(let room): try prepare(post, room)
    case .abandon(let room): try abandon(post, room)
    case .topic(let room, let text, let stanza): try topic(post, room, text, stanza)
    case .invite(let room, let address, let reason, let continuing):
      try invite(post, room, address, reason, continuing)
    case .decline(let room, let address, let reason, let id, let extras):
      try decline(post, room, address, reason, id: id, extras: extras)
    case .askForVoice(let room): try askForVoice(post, room)
    case .register(let room, let nick, let bookmarks):
      try register(post, room, nick: nick, bookmarks: bookmarks)
    case .destroy(let room, let reason, let alternate, let password):
      try destroy(post, room, reason: reason, alternate: alternate, password: password)
    case .expelOutsiders(let room): try expelOutsiders(post, from: room)
    case .endMembers(let room, let after, let password):
      try endMembers(post, of: room, after: after, password: password)
    case .endEmpty(let after): try endEmpty(post, after: after)
    case .removeContent(let room): try removeContent(post, of: room)
    case .readNicks: try readNicks(post)
    case .occupants(let room, let count): try occupants(post, room, atMost: count)
    case .place(let room): try occupants(post, room, atMost: 0)
    case .headcounts(let ids): headcounts(post, of: ids)
    case .come(let onlineSession, let last): try come(post, onlineSession, toRoomsBehind: last)
    case .vacate(let session, let isLost): try vacate(session, isLost: isLost, post)
    case .lose(let room, let error): try exit(post, room, nil, error: error)
    }
    try endLeftRooms()
    rooms.boundPresences(presencesInRoomsBytesMax)
  }

  // MARK: Finding

  /// Returns the room's state. Throws if there is none, or none that the author may know of.
  mutating func find(
    _ reference: RoomReference, for author: Party
  ) throws -> RoomCache.State {
    guard let state = try lookUp(reference, for: author), try mayKnow(author, of: state) else {
      throw Problem.roomUnknown
    }
    if state.room.isDestroyed { throw Problem.roomDestroyed }
    if isElsewhere(author), rooms.occupants(of: state.room.id)?.key(of: author.id) == nil {
      try checkRemote(author, try affiliation(of: author.id, in: state), in: state.room)
    }
    return state
  }

  /// Returns whether the author may know of the room: a members-only room that is not listed is visible only to those
  /// who belong to it. (A user who tries to enter learns of it all the same: XEP-0045 7.2.6.)
  private mutating func mayKnow(
    _ author: Party, of state: RoomCache.State
  ) throws -> Bool {
    if state.room.isKnownToAll(byAddress: true) { return true }
    if rooms.occupants(of: state.room.id)?.key(of: author.id) != nil { return true }
    return try affiliation(of: author.id, in: state).isMember
  }

  mutating func lookUp(
    _ reference: RoomReference, for author: Party
  ) throws -> RoomCache.State? {
    let home = realms.home(of: author.realm)
    switch reference {
    case .dialog(let id):
      if let state = rooms.states[id] { return state.room.name.realm == home ? state : nil }
      guard let room = try writer.room(id), room.name.realm == home else { return nil }
      return put(room)
    case .address(let address):
      if let id = rooms.numbers[address], let state = rooms.states[id] {
        return state.room.name.realm == home ? state : nil
      }
      guard let room = try writer.room(at: address), room.name.realm == home else { return nil }
      return put(room)
    }
  }

  /// Caches a room that somebody uses for the first time, and has the nicks of its members read if they are many.
  private mutating func put(_ room: Room) -> RoomCache.State {
    if rooms.noteUnread(room) { later(.readNicks) }
    return rooms.put(room)
  }

  mutating func member(
    _ user: UserID, in state: RoomCache.State
  ) throws -> Member? {
    // A remote user without a row belongs to no room.
    if user.number < 0 { return nil }
    if let known = state.members[user] { return known }
    let found = try writer.member(user, of: .server(state.room.id, .rules))
    rooms.remember(found, of: user, in: state)
    return found
  }

  mutating func affiliation(
    of user: UserID, in state: RoomCache.State
  ) throws -> Affiliation {
    try member(user, in: state)?.affiliation ?? .none
  }

  /// Returns the rooms of which a user is a member, by number. They are read once, and again when one of them has changed.
  mutating func memberships(of user: UserID) throws -> [RoomCache.Membership] {
    if let known = rooms.memberships(of: user) { return known }
    let found = try writer.memberships(of: user).map {
      RoomCache.Membership(room: $0.room.dialog, seesAddresses: $0.affiliation.seesAddresses)
    }
    rooms.remember(found, of: user)
    return found
  }

  /// Returns the room's state for a member or occupant; to others a room that they may know of appears unknown.
  mutating func findAsMember(
    _ reference: RoomReference, for author: Party
  ) throws -> (state: RoomCache.State, affiliation: Affiliation) {
    let state = try find(reference, for: author)
    let affiliation = try affiliation(of: author.id, in: state)
    guard affiliation.isMember || rooms.occupants(of: state.room.id)?.occupant(of: author.id) != nil else {
      throw Problem.roomUnknown
    }
    return (state, affiliation)
  }

  // MARK: Nicks

  /// Returns the nick as the room shows it, and its comparison key (RFC 8266). The profile decides what a nick is, and
  /// not the rule for other names (`ShownText`): XMPP clients and servers expect it.
  static func nick(_ text: String) throws(Problem) -> (nick: String, key: String) {
    guard let nick = try? Precis.nickname(text), let key = try? Precis.nicknameKey(text),
      nick.utf8.count <= Limits.nickBytesMax, (try? Precis.resource(nick)) == nick
    else { throw Problem.nickInvalid }
    return (nick, key)
  }

  /// Returns whether no other occupant and no absent member holds the nick.
  mutating func isUnheld(
    key: String, for user: UserID, in state: RoomCache.State
  ) throws -> Bool {
    if let occupant = rooms.occupants(of: state.room.id)?.byKey[key], occupant.party.id != user { return false }
    if let holder = try writer.member(nickKey: key, of: .server(state.room.id, .rules)), holder.party.id != user {
      return false
    }
    return true
  }

  /// Returns whether the user may take the nick: nobody else holds it, and it is no copy of one that somebody holds
  /// (`NickLook`). Other nicks that look alike are two nicks; clients mark them where they are shown.
  mutating func isFree(
    _ wish: (nick: String, key: String), for user: UserID, in state: RoomCache.State
  ) throws -> Bool {
    guard try isUnheld(key: wish.key, for: user, in: state) else { return false }
    // A nick that is reserved for a member was compared when it was reserved.
    if try member(user, in: state)?.nick == wish.nick { return true }
    let look = NickLook(wish.nick)
    if rooms.occupants(of: state.room.id)?.looks.holder(ofOriginalOf: look, besides: user) != nil { return false }
    while let holder = try looks(in: state.room.id).holder(ofOriginalOf: look, besides: user) {
      if try member(holder, in: state)?.nick != nil { return false }
      // The deletion of an account has ended the membership.
      rooms.note(nick: nil, of: holder, in: state.room.id)
    }
    return true
  }

  /// Returns what the members' reserved nicks look like. They are read once; in a large room this reads what later posts have
  /// not read yet.
  private mutating func looks(in room: DialogID) throws -> NickLooks {
    if let known = rooms.looks(of: room) { return known }
    let reading = rooms.reading?.room == room ? rooms.reading : nil
    var looks = reading?.looks ?? NickLooks()
    for member in try writer.members(of: .server(room, .rules), after: reading?.after, limit: 2 * Limits.membersMax) {
      looks[member.party.id] = member.nick.map { NickLook($0) }
    }
    rooms.remember(looks, of: room)
    return looks
  }

  /// Reads a page of the nicks of a large room's members, and the others in later posts: ten thousand at once would delay
  /// everybody's posts by some hundredths of a second.
  private mutating func readNicks(_ post: Post) throws {
    if let (room, after) = rooms.nextUnread(free: freeCacheBytes) {
      let page = try writer.members(of: .server(room, .rules), after: after, limit: Limits.feedPageMax)
      rooms.remember(page, isLast: page.count < Limits.feedPageMax)
      later(.readNicks)
    }
    settle(post)
  }

  /// Returns a free nick for a member: the one wished for, their name, or their localpart; with a number if it is
  /// taken.
  mutating func freeNick(
    for party: Party, wish: String?, in state: RoomCache.State
  ) throws -> String {
    var names = [wish, try writer.user(party.id)?.profile.displayName]
    // In a semi-anonymous room no one gets a nick that reveals their address.
    if state.room.settings.showsAddresses { names += [party.name, Self.cut(party.name, Limits.nickBytesMax)] }
    let base = names.lazy.compactMap { $0 }.compactMap { try? Self.nick($0) }.first
    if let base, try isFree(base, for: party.id, in: state) { return base.nick }
    // The number of attempts is bounded: a thousand people may have the same name.
    let stem = base.map { Self.cut($0.nick, Limits.nickBytesMax - 16) } ?? "Guest"
    let numbers = Array(2...9) + (1...12).map { Int.random(in: 10...Int(1e3) * $0 * $0 * $0) }
    for number in numbers {
      guard let wish = try? Self.nick("\(stem) \(number)") else { continue }
      if try isFree(wish, for: party.id, in: state) { return wish.nick }
    }
    return Self.randomName()
  }

  /// Returns a name of 128 random bits, which is unique.
  static func randomName() -> String {
    PublicID.random().description
  }

  /// Returns a member's nick, reserving one if there is none.
  mutating func reservedNick(
    of member: Member, in state: RoomCache.State
  ) throws -> String {
    if let nick = member.nick { return nick }
    let nick = try freeNick(for: member.party, wish: nil, in: state)
    try store(with(member) { $0.nick = nick }, in: state)
    return nick
  }

  func with(_ member: Member, _ change: (inout Member) -> Void) -> Member {
    var member = member
    change(&member)
    return member
  }

  mutating func store(_ member: Member, in state: RoomCache.State) throws {
    let was = try self.member(member.party.id, in: state)
    let wasMember = was?.affiliation.isMember == true
    countBeside(member.textBytes - (was?.textBytes ?? 0))
    try writer.put(member, ordinal: state.room.ordinal)
    rooms.remember(member.affiliation == .none ? nil : member, of: member.party.id, in: state)
    rooms.edited(state)
    rooms.forgetMemberships(of: member.party.id)
    rooms.note(nick: member.affiliation.isMember ? member.nick : nil, of: member.party.id, in: state.room.id)
    if !member.affiliation.isMember { rooms.forgetMark(of: member.party.id, in: state) }
    owedPushes.settingsChanged(of: member.party.id, in: state.room.id)
    if member.affiliation.isMember, !wasMember {
      let settings = try begin(state.room.id, at: state.room.address, for: member.party)
      tell(.alerts(member.party.id, state.room.id, .member(settings.alerts)))
    } else if !member.affiliation.isMember, wasMember {
      tell(.alerts(member.party.id, state.room.id, .none))
    }
  }

  // MARK: Writing

  /// Stores a value of a room; `nil` deletes it. The bytes by which it is longer than the value before count for the day.
  mutating func setValue(of room: DialogID, node: String, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      // An index has node and item again.
      let row = Int(Limits.storedMessageBytes) + 2 * (node.utf8.count + item.utf8.count)
      let before = try writer.value(of: room, node: node, item: item)
      countBeside(bytes.count - (before?.count ?? -row))
    }
    try writer.setValue(of: room, node: node, item: item, bytes)
  }

  /// Writes an entry of the room.
  mutating func insert(
    _ fact: Fact, by author: Party, in state: RoomCache.State, feeds: [FeedRow] = [], key: RepeatKey? = nil
  ) throws -> Entry {
    let position = nextPosition()
    state.room.end(at: position, isShown: fact.isShown)
    rooms.counted(state)
    let entry = Entry(
      position: position, time: time, dialog: state.room.id, author: author, place: .room(state.room.name),
      fact: fact, id: realms.entryID(position, in: state.room.name.realm),
      isSemiAnonymous: !state.room.settings.showsAddresses)
    try writer.insert(entry, feeds: feeds, key: key)
    return entry
  }

  /// Writes a notice among the messages.
  mutating func note(
    _ change: RoomChange.Change, by author: Party, in state: RoomCache.State, stanza: Message? = nil,
    feeds: [FeedRow] = []
  ) throws -> Entry {
    state.room.sequence += 1
    return try insert(
      .room(RoomChange(sequence: state.room.sequence, change: change, stanza: stanza, room: state.room)), by: author,
      in: state,
      feeds: feeds)
  }

  mutating func tell(_ effects: RoomEffect) { tell(.room(effects)) }

  // MARK: Presences

  func occupantPresence(
    of occupant: Occupants.Occupant, in room: Room, presence: Presence? = nil, role: Role? = nil,
    affiliation: Affiliation? = nil, codes: [UInt16] = [], ownCodes: [UInt16] = [], newNick: String? = nil,
    actor: String? = nil, reason: String? = nil, destroyed: OccupantPresence.Destroyed? = nil,
    listStep: MemberListStep? = nil
  ) -> OccupantPresence {
    let own = presence ?? occupant.sessions.last?.presence ?? unavailable(occupant.party, nil)
    // Who may not speak says nothing by a status either.
    let shown = room.settings.speakingRole(of: occupant.role) == .visitor ? own.quieted() : own
    return OccupantPresence(
      room: room.name, nick: occupant.nick, party: occupant.party, resource: shown.resource,
      affiliation: affiliation ?? occupant.affiliation, role: role ?? (shown.isAvailable ? occupant.role : .none),
      presence: shown, codes: codes, ownCodes: ownCodes, newNick: newNick, actor: actor, reason: reason,
      destroyed: destroyed, occupantID: realms.occupantID(of: occupant.party.id, in: room.name),
      showsAddress: room.settings.showsAddresses, listStep: listStep)
  }

  /// Returns the occupant's presence without status codes: shared, so that it is encoded once for all who enter.
  func plainPresence(of occupant: Occupants.Occupant, in room: Room) -> OccupantPresence {
    let cache = occupant.presenceCache
    if let known = cache.presence, known.showsAddress == room.settings.showsAddresses,
      cache.isReadOnly == room.settings.isReadOnly
    {
      return known
    }
    let presence = occupantPresence(of: occupant, in: room)
    cache.presence = presence
    cache.isReadOnly = room.settings.isReadOnly
    return presence
  }

  func unavailable(_ party: Party, _ resource: String?, status: String? = nil) -> Presence {
    Presence(from: party, resource: resource ?? "", availability: .offline, status: status, time: time)
  }

  static func cut(_ reason: String?) -> String? {
    guard let reason, !reason.isEmpty else { return nil }
    return cut(reason, Limits.reasonBytesMax)
  }

  static func cut(_ text: String, _ bytes: Int) -> String {
    if text.utf8.count <= bytes { return text }
    var cut = ""
    for character in text {
      if cut.utf8.count + character.utf8.count > bytes { break }
      cut.append(character)
    }
    return cut
  }
}

extension RoomIntent {
  /// The room being set up that its creator uses without having configured it, as some clients do: a message or change
  /// makes it an instant room (XEP-0045 10.1.2). `isOccupants` tells that only an occupant's session may do so: the room
  /// does not hear the creator's other sessions. Nor does any other do so while the room is locked (10.1.3).
  fileprivate var unlocks: (address: BareJID, isOccupants: Bool)? {
    let (reference, isOccupants): (RoomReference, Bool)
    switch self {
    case .say(let room, _), .topic(let room, _, _): (reference, isOccupants) = (room, true)
    case .members(let room, _), .roles(let room, _), .invite(let room, _, _, _):
      (reference, isOccupants) = (room, false)
    case .create, .introduce, .enter, .show, .probe, .exit, .signal, .whisper, .pass, .face, .marker, .configure,
      .expelOutsiders, .prepare, .abandon, .decline, .askForVoice, .register, .destroy, .endMembers, .endEmpty,
      .removeContent, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      return nil
    }
    guard case .address(let address) = reference else { return nil }
    return (address, isOccupants)
  }
}
