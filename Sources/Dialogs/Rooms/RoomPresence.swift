import Addresses
import ServerMetrics

/// Presence in a room: entering, changing nick and availability, leaving (XEP-0045 7.2, 7.6, 7.7, 7.14).
extension Judge {
  /// Stores a remote user who may enter: what a room keeps of its occupants (seats, occupant ids, bans) is by an id that
  /// is always the same.
  mutating func introduce(_ post: Post, _ reference: RoomReference, password: String?) throws {
    guard let state = try lookUp(reference, for: post.author) else { throw Problem.roomUnknown }
    if state.room.isDestroyed { throw Problem.roomDestroyed }
    let affiliation = try affiliation(of: post.author.id, in: state)
    if try isBanned(post.author, affiliation, in: state) { throw Problem.roomBanned }
    try checkEntry(state.room, post.author, affiliation, password: password)
    var receipt = Receipt(position: head)
    receipt.value = try known(post.author)
    settle(post, receipt)
  }

  mutating func enter(_ post: Post, _ reference: RoomReference, _ entering: Entering) throws {
    let author = post.author
    let session = entering.session.id
    if entering.session.party.isProvisional { throw Problem.notIntroduced }
    try checkLength(entering.presence, of: author)
    guard let state = try lookUp(reference, for: author) else {
      if try unlocks(reference, for: post, entering) { return try enter(post, reference, entering) }
      return try lease(post, reference, entering)
    }
    if state.room.isDestroyed {
      if entering.isJoin, try mayMakeAgain(state, author) { return try lease(post, reference, entering) }
      if state.room.isEnding, !state.room.settings.isPersistent { throw Problem.roomEnding }
      // Otherwise their clients would try again for ever, if the server stopped before it came to their bookmark.
      try unbookmark(state.room, for: author)
      return refuse(post, Problem.roomDestroyed)
    }
    let (wish, wishKey) = try Self.nick(entering.nick)
    if let present = rooms.occupants(of: state.room.id)?.occupant(of: session) {
      return try enterAgain(post, state, entering, present, wish: (wish, wishKey))
    }
    // A presence to a room from an absent user that is no join (7.2.1, note).
    guard entering.isJoin else { throw Problem.notOccupant }

    var member = try member(author.id, in: state)
    let affiliation = member?.affiliation ?? .none
    let companion = rooms.occupants(of: state.room.id)?.occupant(of: author.id)
    try checkPlace(author, affiliation, entering, isThere: companion != nil, in: state)

    let (nick, key) = try self.nick(wishing: (wish, wishKey), of: author, member, beside: companion, in: state)
    let role = companion?.role ?? affiliation.role(isModerated: state.room.settings.isModerated)
    if companion == nil, state.room.settings.speakingRole(of: role) == .visitor {
      try hold(nick, of: author, in: state.room)
    }
    let isReserved = try reserve(nick, for: member, in: state)
    let comesBack = try readmit(post, to: state) != nil
    if comesBack { member = try self.member(author.id, in: state) }

    let others = shown(in: state.room, without: author.id)
    let occupant = rooms.occupy(state.room.id) {
      $0.enter(
        Occupants.OccupantSession(session: entering.session, presence: entering.presence), party: author, nick: nick,
        key: key,
        affiliation: affiliation, role: role)
    }
    rooms.setPresent(session, of: author.id, in: state.room.id, true)
    var codes: [UInt16] = state.room.settings.showsAddresses ? [100] : []
    if nick != entering.nick { codes.append(210) }
    let own = occupantPresence(of: occupant, in: state.room, ownCodes: codes)
    tell(.sessionEntered(entering.session, isModerator: role == .moderator, state.room.id))
    if occupant.isShown {
      tell(.occupant(plainPresence(of: occupant, in: state.room), except: session))
    } else if !isReserved, !comesBack {
      post.charge?.giveBack(now: now)
    }
    if comesBack { try comeAll(author, to: state.room.id) }
    let list = try memberList(entering.list, for: member, in: state)
    settle(post, enteredRoom(state.room, others: others, own: own, member: member, list: list))
  }

  /// Checks that somebody may enter a room, and that the room and their session have a place left.
  private mutating func checkPlace(
    _ author: Party, _ affiliation: Affiliation, _ entering: Entering, isThere: Bool, in state: RoomCache.State
  ) throws {
    if try isBanned(author, affiliation, in: state) { throw Problem.roomBanned }
    try checkEntry(state.room, author, affiliation, password: entering.password)
    let placeCount = min(state.room.settings.occupantsMax ?? Limits.occupantsMax, Limits.occupantsMax)
    if !isThere, affiliation < .admin, (rooms.occupants(of: state.room.id)?.count ?? 0) >= placeCount {
      throw Problem.roomFull
    }
    if rooms.rooms(of: entering.session.id).count >= Limits.roomsPerSessionMax { throw Problem.noRoomsLeft }
    try pace(author, in: state, listing: entering.list)
  }

  /// Refuses a long presence of a user whose presences in rooms have many bytes. They stay in memory as long as they are shown.
  private func checkLength(_ presence: Presence, of user: Party) throws(Problem) {
    let bytes = presence.byteCount
    if bytes > Limits.roomPresenceBytes, rooms.presenceBytes(of: user.id) + bytes > Limits.roomPresencesBytesMax {
      throw Problem.presencesTooLong
    }
  }

  /// Counts an entrance into a large room, or a change of nick there, which is delivered to everybody in it, and an entrance
  /// whose client gets a long list of members: that of a room with thousands has half a megabyte.
  private mutating func pace(
    _ author: Party, in state: RoomCache.State, listing list: MemberListRequest? = nil
  ) throws(Problem) {
    // Those who see outcasts have them on the list, too.
    let people = max(state.room.memberCount, state.people?.members?.count ?? 0)
    let isSpread = audienceSizes.count(in: .dialog(state.room.id)) > 0
    guard isSpread || list != nil && people >= Limits.fanOutMin, !sending.isUnlimited(author, in: realms),
      let seconds = rooms.wait(toEnter: state.room.id, as: author.id, now: now)
    else { return }
    metrics.refusals.add(.entrances)
    throw Problem.entrances(wait: seconds)
  }

  /// Counts the nick that a user without voice shows to all in the room, since nothing else of theirs is shown there.
  ///
  /// - Parameter last: the present nick; `nil` if the user enters.
  mutating func hold(_ nick: String, after last: String? = nil, of author: Party, in room: Room) throws(Problem) {
    guard !sending.isUnlimited(author, in: realms),
      let seconds = rooms.wait(toBeShownAs: nick, after: last, in: room.id, as: author.id, now: now)
    else { return }
    metrics.refusals.add(.entrances)
    throw Problem.visitor(wait: seconds)
  }

  /// Returns the nick of an entering user. A user has one nick, that of their other sessions. Without these it is the
  /// wish, whichever nick is reserved for them (XEP-0045 7.12); the reserved one if the wish is somebody else's.
  private mutating func nick(
    wishing wish: (nick: String, key: String), of author: Party, _ member: Member?,
    beside companion: Occupants.Occupant?, in state: RoomCache.State
  ) throws -> (nick: String, key: String) {
    if let companion { return try Self.nick(companion.nick) }
    if try isFree(wish, for: author.id, in: state) { return wish }
    guard let reserved = member?.nick else { throw Problem.nickTaken }
    return try Self.nick(reserved)
  }

  /// Reserves for a member the nick that they use: it changes with the occupant's (7.6). Apps show it beside members
  /// who are absent too, so it is an entry, as if an app had changed it. Returns whether it has changed.
  private mutating func reserve(_ nick: String, for member: Member?, in state: RoomCache.State) throws -> Bool {
    guard let member, member.affiliation.isMember, member.nick != nick else { return false }
    let entry = try note(
      .member(
        MemberChange(
          party: member.party, was: member.affiliation, now: member.affiliation, nick: nick, reason: nil,
          wasKicked: member.isKicked, isKicked: member.isKicked)),
      by: member.party, in: state)
    try store(with(member) { $0.nick = nick }, in: state)
    rooms.changed(state)
    tell(.entry(entry, author: nil))
    return true
  }

  private func enteredRoom(
    _ room: Room, others: [OccupantPresence], own: OccupantPresence, member: Member?,
    list: (version: Position?, answer: MemberListAnswer) = (nil, .nothing)
  ) -> Receipt {
    var receipt = Receipt(position: head)
    receipt.room = room
    let access = RoomAccess(of: room, for: own.party, as: member, role: own.role, holdsAddress: true)
    receipt.value = EnteredRoom(
      room: room, position: head, messages: access.readable?.messages, others: others, own: own,
      listVersion: list.version, list: list.answer)
    return receipt
  }

  /// Returns the occupants that are shown to an entering user.
  private func shown(in room: Room, without user: UserID) -> [OccupantPresence] {
    guard let occupants = rooms.occupants(of: room.id) else { return [] }
    return occupants.shown.filter { $0.party.id != user }.map { plainPresence(of: $0, in: room) }
  }

  /// Checks that a user may enter (XEP-0045 7.2.4 to 7.2.10).
  private func checkEntry(
    _ room: Room, _ party: Party, _ affiliation: Affiliation, password: String?
  ) throws(Problem) {
    try checkRemote(party, affiliation, in: room)
    if room.settings.isMembersOnly, !affiliation.isMember { throw Problem.roomMembersOnly }
    if let expected = room.settings.password, !Self.isSame(expected, password ?? "") { throw Problem.roomPassword }
  }

  /// Compares in a time that depends on `given` only.
  private static func isSame(_ expected: String, _ given: String) -> Bool {
    let expected = Array(expected.utf8)
    var difference: UInt8 = expected.count == given.utf8.count ? 0 : 1
    for (index, byte) in given.utf8.enumerated() {
      difference |= byte ^ (expected.isEmpty ? 1 : expected[index % expected.count])
    }
    return difference == 0
  }

  /// Processes a presence of a present session: with the same nick it is availability, or a new join of a client that
  /// lost its place; with another nick it is a change.
  private mutating func enterAgain(
    _ post: Post, _ state: RoomCache.State, _ entering: Entering, _ present: Occupants.Occupant,
    wish: (nick: String, key: String)
  ) throws {
    let session = entering.session.id
    guard let key = rooms.occupants(of: state.room.id)?.key(of: session) else { throw Problem.notOccupant }
    let member = try member(post.author.id, in: state)
    if wish.key == key, wish.nick == present.nick || entering.isJoin {
      if entering.isJoin { try pace(post.author, in: state, listing: entering.list) }
      guard let occupant = rooms.occupy(state.room.id, { $0.show(entering.presence, by: session) }) else {
        throw Problem.notOccupant
      }
      if !occupant.isShown { post.charge?.giveBack(now: now) }
      if entering.isJoin {
        let own = occupantPresence(
          of: occupant, in: state.room, ownCodes: state.room.settings.showsAddresses ? [100] : [])
        if occupant.isShown { tell(.occupant(occupantPresence(of: occupant, in: state.room), except: session)) }
        let list = try memberList(entering.list, for: member, in: state)
        return settle(
          post,
          enteredRoom(
            state.room, others: shown(in: state.room, without: post.author.id), own: own, member: member, list: list))
      }
      broadcast(occupant, in: state.room)
      return settle(post)
    }

    try pace(post.author, in: state)
    guard try isFree(wish, for: post.author.id, in: state) else { throw Problem.nickTaken }
    if state.room.settings.speakingRole(of: present.role) == .visitor {
      try hold(wish.nick, after: present.nick, of: post.author, in: state.room)
    }
    if try !reserve(wish.nick, for: member, in: state), !present.isShown { post.charge?.giveBack(now: now) }
    let leaving = occupantPresence(
      of: present, in: state.room, presence: unavailable(present.party, present.sessions.last?.presence.resource),
      role: present.role, codes: [303], newNick: wish.nick)
    guard
      let occupant = rooms.occupy(
        state.room.id,
        { occupants -> Occupants.Occupant? in
          _ = occupants.rename(from: key, to: wish.key, nick: wish.nick)
          return occupants.show(entering.presence, by: session)
        })
    else { throw Problem.notOccupant }
    tell(leaving, of: present)
    let isModified = wish.nick != entering.nick
    tell(occupantPresence(of: occupant, in: state.room, ownCodes: isModified ? [210] : []), of: occupant)
    settle(post)
  }

  /// Announces the occupant's current presence.
  mutating func broadcast(_ occupant: Occupants.Occupant, in room: Room) {
    tell(occupantPresence(of: occupant, in: room), of: occupant)
  }

  // MARK: App sessions

  /// Adds an app session of a member to the occupants: it is present as long as it is connected, without having to
  /// enter. `step` announces in its presence that the user has become a member. Returns whether the occupants
  /// were sent that presence.
  @discardableResult
  mutating func come(
    _ onlineSession: OnlineSession, to room: DialogID, step: MemberListStep? = nil
  ) throws -> Bool {
    guard !onlineSession.isUnseen,
      let state = try lookUp(.dialog(room), for: onlineSession.session.party), !state.room.isDestroyed,
      let member = try member(onlineSession.session.party.id, in: state), member.affiliation.isMember,
      !member.isKicked
    else { return false }
    let companion = rooms.occupants(of: room)?.occupant(of: member.party.id)
    let nick = try companion?.nick ?? reservedNick(of: member, in: state)
    guard let key = try? Self.nick(nick).key else { return false }
    let presence = Presence(
      from: member.party, resource: onlineSession.resource, availability: .online, time: time)
    let occupant = rooms.occupy(room) {
      $0.enter(
        Occupants.OccupantSession(session: onlineSession.session, presence: presence, isApp: true), party: member.party,
        nick: nick,
        key: key, affiliation: member.affiliation,
        role: member.affiliation.role(isModerated: state.room.settings.isModerated))
    }
    rooms.setPresent(onlineSession.session.id, of: member.party.id, in: room, true)
    guard companion == nil, occupant.isShown else { return false }
    tell(.occupant(occupantPresence(of: occupant, in: state.room, listStep: step), except: nil))
    return true
  }

  /// Adds an app session to the occupants of its user's rooms behind one: of some in this post, and of the others in later
  /// ones, so that other posts are between them.
  ///
  /// - Parameter budget: the user's.
  /// - Returns: the deliveries of this post, with those of the session's end in large rooms.
  mutating func come(
    _ onlineSession: OnlineSession, toRoomsBehind last: DialogID, charging budget: SendingBudget
  ) throws -> Int {
    if onlineSession.isUnseen { return 0 }
    let user = onlineSession.session.party
    let left = try memberships(of: user.id).drop { $0.room.number <= last.number }
    let here = left.prefix(Limits.roomsAtOnce)
    var deliveries = 0
    for room in here.map(\.room) {
      let large = audienceSizes.count(in: .dialog(room))
      let size = large > 0 ? large : rooms.occupants(of: room)?.count ?? 0
      // The arrival of a user who is not there yet is delivered to everybody. A user in debt only follows the room.
      if size > 0, rooms.occupants(of: room)?.key(of: user.id) == nil, budget.owesDeliveries(now: now) { continue }
      // The end of the session is charged as well, as the exit of an occupant is; that in small rooms when it comes.
      if try come(onlineSession, to: room) { deliveries += large > 0 ? 2 * size : size }
    }
    if left.count > here.count, let last = here.last?.room {
      tell(
        .later(
          Post(author: user, intent: .room(.come(onlineSession, toRoomsBehind: last)), completion: .none)))
    }
    return Self.charged(deliveries)
  }

  mutating func come(_ post: Post, _ onlineSession: OnlineSession, toRoomsBehind last: DialogID) throws {
    var receipt = Receipt(position: head)
    // It may have ended meanwhile.
    if hub.onlineSessions(of: post.author.id).contains(where: { $0.session === onlineSession.session }) {
      receipt.deliveries = try come(onlineSession, toRoomsBehind: last, charging: sendingBudget(of: post))
    }
    receipt.position = head
    settle(post, receipt)
  }

  /// Returns the deliveries of a post to many rooms that are charged: none where they are no more than those of a message to
  /// a small room.
  private static func charged(_ deliveries: Int) -> Int { deliveries < Limits.fanOutMin ? 0 : deliveries }

  // MARK: Rooms being set up

  /// Leases an address without a room to the first who enters (XEP-0045 10.1). Nothing is stored until they configure
  /// the room.
  private mutating func lease(_ post: Post, _ reference: RoomReference, _ entering: Entering) throws {
    if !entering.isJoin, try appear(post, reference, entering) { return }
    guard case .address(let address) = reference, entering.isJoin, let local = address.local,
      let realm = realms.realm(post.author.realm), address.hasDomain(realm.rooms),
      local.utf8.count <= Limits.roomNameBytesMax
    else { throw Problem.roomUnknown }
    try require(.rooms, of: post.author)
    let (nick, _) = try Self.nick(entering.nick)
    if let lease = rooms.leases[address], lease.session.id != entering.session.id { throw Problem.roomLocked }
    if rooms.leases[address] == nil,
      rooms.leases.count >= Limits.leasesMax || rooms.leases(of: post.author.id).count >= Limits.leasesPerUserMax
    {
      throw Problem.noRoomsLeft
    }
    var codes: [UInt16] = [201]
    if nick != entering.nick { codes.append(210) }
    var lease = RoomCache.Lease(session: entering.session, party: post.author, nick: nick, presence: entering.presence)
    // Entering again opens nothing that a look at the form has locked.
    lease.isLocked = rooms.leases[address]?.isLocked ?? false
    rooms.lease(address, lease)
    let room = roomBeingSetUp(at: address, by: post.author)
    let own = ownPresence(lease, in: room.name, lease.presence, affiliation: .owner, role: .moderator, codes: codes)
    settle(post, enteredRoom(room, others: [], own: own, member: nil))
  }

  /// Shows another status or nick of the session in which a room is being set up (7.6, 7.7). Returns whether it is one.
  private mutating func appear(_ post: Post, _ reference: RoomReference, _ entering: Entering) throws -> Bool {
    guard case .address(let address) = reference, var lease = rooms.leases[address],
      lease.session.id == entering.session.id
    else { return false }
    lease.nick = try Self.nick(entering.nick).nick
    lease.presence = entering.presence
    rooms.lease(address, lease)
    let own = ownPresence(
      lease, in: roomBeingSetUp(at: address, by: lease.party).name, lease.presence, affiliation: .owner,
      role: .moderator)
    tell(.shown(own, to: [lease.session], own: true))
    settle(post)
    return true
  }

  /// Returns the room under a leased address, of which nothing is stored.
  private func roomBeingSetUp(at address: BareJID, by creator: Party) -> Room {
    Room(
      name: RoomName(dialog: DialogID(0), realm: creator.realm, address: address), externalID: nil, createdAt: time,
      settings: .instant)
  }

  private func ownPresence(
    _ lease: RoomCache.Lease, in room: RoomName, _ presence: Presence, affiliation: Affiliation, role: Role,
    codes: [UInt16] = [], destroyed: OccupantPresence.Destroyed? = nil
  ) -> OccupantPresence {
    OccupantPresence(
      room: room, nick: lease.nick, party: lease.party, resource: presence.resource, affiliation: affiliation,
      role: role, presence: presence, ownCodes: codes, destroyed: destroyed,
      occupantID: realms.occupantID(of: lease.party.id, in: room), showsAddress: true)
  }

  mutating func abandon(_ post: Post, _ reference: RoomReference) throws {
    guard case .address(let address) = reference, let lease = rooms.leases[address], lease.party.id == post.author.id
    else {
      // Cancelling the configuration of an existing room changes nothing (10.2).
      _ = try find(reference, for: post.author)
      return settle(post)
    }
    giveUp(lease, of: address)
    settle(post)
  }

  /// Gives up a room that is being set up. The session in which it was is notified as of a destroyed room, since another
  /// session of its owner may have sent the post (10.1.3, 10.9).
  mutating func giveUp(_ lease: RoomCache.Lease, of address: BareJID) {
    rooms.lease(address, nil)
    let absence = ownPresence(
      lease, in: roomBeingSetUp(at: address, by: lease.party).name,
      unavailable(lease.party, lease.presence.resource), affiliation: .none, role: .none,
      destroyed: OccupantPresence.Destroyed(alternate: nil))
    tell(.shown(absence, to: [lease.session], own: true))
  }

  /// Makes a room that is being set up an instant one (10.1.2) as somebody else enters, and returns whether it did.
  /// XEP-0045 10.1.1 locks them out until the creator has configured the room; but clients in which a room is made by
  /// typing its name (Dino) never do. So it is locked from the creator's look at the form on.
  private mutating func unlocks(_ reference: RoomReference, for post: Post, _ entering: Entering) throws -> Bool {
    guard entering.isJoin, case .address(let address) = reference, let lease = rooms.leases[address],
      lease.session.id != entering.session.id, !lease.isLocked, post.author.realm == lease.party.realm
    else { return false }
    let creating = Post(author: lease.party, intent: post.intent, completion: .session(lease.session, token: 0))
    do {
      _ = try found(creating, address, lease, SettingsDraft { $0 = .instant })
      return true
    } catch is Problem {
      return false
    }
  }

  // MARK: Availability

  mutating func show(
    _ post: Post, _ reference: RoomReference, _ presence: Presence
  ) throws {
    let state = try find(reference, for: post.author)
    try checkLength(presence, of: post.author)
    guard let session = session(of: post),
      let occupant = rooms.occupy(state.room.id, { $0.show(presence, by: session) })
    else { throw Problem.notOccupant }
    if !occupant.isShown { post.charge?.giveBack(now: now) }
    broadcast(occupant, in: state.room)
    settle(post)
  }

  mutating func probe(_ post: Post, _ reference: RoomReference, nick: String?) throws {
    let state = try find(reference, for: post.author)
    guard let session = session(of: post), let occupants = rooms.occupants(of: state.room.id),
      let own = occupants.occupant(of: session)
    else { throw Problem.notOccupant }
    var probed: [Occupants.Occupant] = []
    if let nick {
      if let key = try? Self.nick(nick).key, let occupant = occupants.byKey[key] { probed = [occupant] }
    } else {
      probed = occupants.shown + (own.isShown ? [] : [own])
    }
    var receipt = Receipt(position: head)
    receipt.value = ProbedOccupants(
      presences: probed.map { plainPresence(of: $0, in: state.room) },
      showsAddresses: state.room.settings.showsAddresses || own.role == .moderator)
    settle(post, receipt)
  }

  // MARK: Leaving

  /// Removes the author's session, also from a room that is being set up.
  ///
  /// - Parameter error: the error by which its client is gone (XEP-0045 11.1); `nil` if the client leaves.
  mutating func exit(
    _ post: Post, _ reference: RoomReference, _ presence: Presence?, error: DeliveryError? = nil
  ) throws {
    let session = session(of: post)
    if case .address(let address) = reference, let lease = rooms.leases[address], lease.session.id == session {
      giveUp(lease, of: address)
      return settle(post)
    }
    let state = try find(reference, for: post.author)
    let status = error?.status(showsText: state.room.settings.showsAddresses)
    guard let session,
      leave(state.room, session, presence, isHeard: true, codes: error == nil ? [] : [333], status: status)
    else { throw Problem.notOccupant }
    settle(post)
  }

  /// Removes a session. `isHeard` tells whether the session still exists to be told.
  ///
  /// - Parameter status: that of the presence which the room sends if the session has sent none.
  mutating func leave(
    _ room: Room, _ session: SessionID, _ presence: Presence?, isHeard: Bool, codes: [UInt16] = [],
    status: String? = nil
  ) -> Bool {
    guard let (before, after) = rooms.occupy(room.id, { $0.exit(session) }) else { return false }
    rooms.setPresent(session, of: before.party.id, in: room.id, false)
    let occupantSession = before.sessions.first { $0.session.id == session }
    let left = occupantPresence(
      of: before, in: room,
      presence: presence ?? unavailable(before.party, occupantSession?.presence.resource, status: status), codes: codes)
    if !isHeard { tell(.sessionLeft(session, room.id)) }
    if let after {
      if isHeard, let occupantSession { tell(.shown(left, to: [occupantSession.session], own: true)) }
      // The others may have seen the presence of this session; a session that has left receives no more.
      if isHeard { tell(.sessionLeft(session, room.id)) }
      if let seen = before.sessions.last, seen.session.id == session {
        // A resumed app session is the same as the one that ended.
        let isSame = after.sessions.last.map { $0.presence.resource == seen.presence.resource } ?? false
        if !isSame || after.sessions.last?.presence.isLike(seen.presence) != true { broadcast(after, in: room) }
      }
      return true
    }
    if before.isShown {
      tell(.occupant(left, except: nil))
    } else if isHeard, let occupantSession {
      tell(.shown(left, to: [occupantSession.session], own: true))
    }
    if isHeard { tell(.sessionLeft(session, room.id)) }
    return true
  }

  mutating func vacate(_ session: SessionID, isLost: Bool, _ post: Post) throws {
    let all = rooms.rooms(of: session)
    var deliveries = 0
    for id in all.prefix(Limits.roomsAtOnce) {
      if let room = try rooms.states[id]?.room ?? writer.room(id) {
        _ = leave(room, session, nil, isHeard: false, codes: isLost ? [333] : [])
        // That in large rooms was charged before.
        if audienceSizes.count(in: .dialog(id)) == 0, let occupants = rooms.occupants(of: id),
          occupants.key(of: post.author.id) == nil
        {
          deliveries += occupants.count
        }
      }
      // Whatever has become of the room: the next post goes on with the others.
      rooms.setPresent(session, of: post.author.id, in: id, false)
    }
    for address in rooms.leases(of: post.author.id) where rooms.leases[address]?.session.id == session {
      rooms.lease(address, nil)
    }
    tell(.vacated(session))
    if all.count > Limits.roomsAtOnce {
      let rest = RoomIntent.vacate(session, isLost: isLost)
      tell(.later(Post(author: post.author, intent: .room(rest), completion: .none, from: post.peer)))
    }
    var receipt = Receipt(position: head)
    // A domain elsewhere is not charged for all of its users whose sessions end with its connection.
    if !post.author.realm.isRemote { receipt.deliveries = Self.charged(deliveries) }
    settle(post, receipt)
  }

  /// Replaces a session in its rooms by the one that resumed it.
  mutating func replace(from old: SessionID, to session: any LiveSession, of user: UserID) {
    for id in rooms.rooms(of: old) {
      guard rooms.occupy(id, { $0.replace(from: old, to: session) }) else { continue }
      rooms.setPresent(old, of: user, in: id, false)
      rooms.setPresent(session.id, of: user, in: id, true)
      tell(.sessionMoved(old, session, id))
    }
    for address in rooms.leases(of: user) {
      guard var lease = rooms.leases[address], lease.session.id == old else { continue }
      lease.session = session
      rooms.lease(address, lease)
    }
  }

  mutating func headcounts(_ post: Post, of ids: [DialogID]?) {
    var receipt = Receipt(position: head)
    receipt.value = rooms.headcounts(of: ids)
    settle(post, receipt)
  }

  mutating func occupants(
    _ post: Post, _ reference: RoomReference, atMost count: Int
  ) throws {
    if case .address(let address) = reference, let lease = rooms.leases[address], lease.party.id == post.author.id {
      return settle(post, occupancy(of: address, lease))
    }
    // A banned user knows of the ban, and is told again.
    if let state = try lookUp(reference, for: post.author), !state.room.isDestroyed,
      try isBanned(post.author, affiliation(of: post.author.id, in: state), in: state)
    {
      throw Problem.roomBanned
    }
    let state = try find(reference, for: post.author)
    let member = try member(post.author.id, in: state)
    let occupants = rooms.occupants(of: state.room.id)
    let own = occupants?.occupant(of: post.author.id)
    let role = own?.role ?? .none
    let access = RoomAccess(of: state.room, for: post.author, as: member, role: role, holdsAddress: true)
    var receipt = Receipt(position: head)
    receipt.room = state.room
    let isShown = access.readable != nil || !state.room.settings.isMembersOnly
    receipt.value = Occupancy(
      access: access, affiliation: member?.affiliation ?? .none, role: role, nick: own?.nick,
      count: occupants?.count ?? 0, edition: state.edition,
      occupants: !isShown
        ? []
        : (occupants?.byKey ?? [:]).prefix(count).map { key, occupant in
          OccupantView(
            nick: occupant.nick, key: key, party: occupant.party, affiliation: occupant.affiliation,
            role: occupant.role, resources: occupant.sessions.map(\.presence.resource))
        })
    settle(post, receipt)
  }

  /// Returns the occupancy of a room being set up, with the settings it gets by default.
  private func occupancy(of address: BareJID, _ lease: RoomCache.Lease) -> Receipt {
    let party = lease.party
    var receipt = Receipt(position: head)
    let room = roomBeingSetUp(at: address, by: party)
    receipt.room = room
    receipt.value = Occupancy(
      access: RoomAccess(of: room, for: party, as: nil, role: .moderator), affiliation: .owner, role: .moderator,
      nick: lease.nick, count: 1, edition: 0,
      occupants: [
        OccupantView(
          nick: lease.nick, key: (try? Self.nick(lease.nick).key) ?? lease.nick, party: party, affiliation: .owner,
          role: .moderator, resources: [lease.presence.resource])
      ])
    return receipt
  }
}
