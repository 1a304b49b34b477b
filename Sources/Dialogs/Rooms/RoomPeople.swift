import Addresses

/// The affiliations, roles and invitations of a room (XEP-0045 7.8, 7.10, 8.2 to 8.5, 9, 10.3 to 10.8).
extension Judge {
  mutating func members(
    _ post: Post, _ reference: RoomReference, _ drafts: [MemberDraft]
  ) throws {
    if drafts.isEmpty { throw Problem(.malformed, "nothing-to-change", "Name at least one person.") }
    let (piece, rest) = try pieces(of: drafts, by: post)
    let state = try find(reference, for: post.author)
    let actor = try affiliation(of: post.author.id, in: state)
    if post.begun == nil, !rest.isEmpty {
      // All are checked before any is changed.
      let others = try changeAddressBans(drafts, by: post, as: actor, in: state).others
      _ = try changes(others, by: post.author, as: actor, in: state, isFromBackend: post.isFromBackend)
    }
    let (bans, lifted, others) = try changeAddressBans(piece, by: post, as: actor, in: state)
    let wishes = try changes(others, by: post.author, as: actor, in: state, isFromBackend: post.isFromBackend)
    try apply(bans, lifted: lifted, by: post, in: state)
    var last = post.begun?.entry
    for wish in wishes {
      last = try apply(wish.draft, to: wish.party, was: wish.was, by: post, in: state) ?? last
    }
    let hasChanged = last != nil || !bans.isEmpty || !lifted.isEmpty || post.begun?.hasChanged == true
    if !rest.isEmpty {
      return leave(
        Post.Begun(
          left: .room(.members(reference, rest)), entry: last, hasChanged: hasChanged, isSpread: last != nil))
    }
    if !bans.isEmpty || post.begun != nil, try hasOutsiders(state) {
      return leave(
        Post.Begun(left: .room(.expelOutsiders(state.room.id)), entry: last, hasChanged: hasChanged))
    }
    var receipt = Receipt(position: head)
    receipt.entry = last
    receipt.room = state.room
    receipt.isRepeat = !hasChanged
    if last == nil { post.charge?.giveBack(now: now) }
    settle(post, receipt)
  }

  /// Returns the people whom this post changes, and those who are left to further ones.
  func pieces(
    of drafts: [MemberDraft], by post: Post
  ) throws(Problem) -> (now: [MemberDraft], rest: [MemberDraft]) {
    if drafts.count > Limits.memberChangesMax {
      throw Problem(.tooLarge, "too-many-changes", "At most \(Limits.memberChangesMax) people change at a time.")
    }
    let ordered = post.begun == nil ? Self.inOrderOfPieces(drafts, by: post.author) : drafts
    return (Array(ordered.prefix(Limits.memberChangesAtOnce)), Array(ordered.dropFirst(Limits.memberChangesAtOnce)))
  }

  /// Returns the people of a request in the order in which they change: as they are named. If they are more than one piece, new owners
  /// come first and the author last, so that at each time the room has an owner and the author may go on.
  static func inOrderOfPieces(_ drafts: [MemberDraft], by author: Party) -> [MemberDraft] {
    if drafts.count <= Limits.memberChangesAtOnce { return drafts }
    let own = drafts.filter { $0.address == author.address }
    let others = drafts.filter { $0.address != author.address }
    return others.filter { $0.affiliation == .owner } + others.filter { $0.affiliation != .owner } + own
  }

  struct MemberWish {
    let draft: MemberDraft
    let party: Party
    let was: Member?
  }

  /// Returns the requested changes, all checked before anything is written.
  mutating func changes(
    _ drafts: [MemberDraft], by author: Party, as actor: Affiliation, in state: RoomCache.State,
    isFromBackend: Bool = false
  ) throws -> [MemberWish] {
    var changes: [MemberWish] = []
    var named: Set<UserID> = []
    var owners: [UserID: Bool] = [:]
    var nicks: Set<String> = []
    var count = state.room.memberCount
    for var draft in drafts {
      // Refuse non-admins before looking up the address, so that they cannot probe who exists.
      if actor < .admin, draft.address != author.address { throw Problem.notAdmin }
      if let nick = draft.nick, !nick.isEmpty, !nicks.insert(try Self.nick(nick).key).inserted {
        throw Problem.nickTaken
      }
      // Disabled users are included: they can be removed.
      guard let user = try person(draft.address, in: state.room.name.realm) else {
        throw Problem.userUnknown(draft.address)
      }
      if !named.insert(user.party.id).inserted { throw Problem.personNamedTwice }
      let was = try member(user.party.id, in: state)
      if draft.keepsWatchers, draft.affiliation == .member, was?.affiliation == .watcher {
        draft.affiliation = .watcher
      }
      try check(
        draft, of: user, was: was, actor: actor, by: author, in: state, count: count, isFromBackend: isFromBackend)
      if let affiliation = draft.affiliation {
        owners[user.party.id] = affiliation == .owner
        if affiliation.isMember, was?.affiliation.isMember != true { count += 1 }
      }
      changes.append(MemberWish(draft: draft, party: user.party, was: was))
    }
    try checkOwners(owners, in: state)
    try checkBans(changes, in: state)
    return try changes.map { try known($0, metBy: author) }
  }

  /// Returns who may get an affiliation at a room of a realm: its users, and whoever its users may write to elsewhere,
  /// known or not. A known user elsewhere can also be removed when their domain no longer is admitted.
  mutating func person(_ address: BareJID, in home: RealmID) throws -> CachedUser? {
    if let user = try user(address, seenFrom: home) { return user.state == .deleted ? nil : user }
    guard let realm = try? realm(of: address, reachedFrom: home), realm.isFederated, address.local != nil else {
      return nil
    }
    return CachedUser(party: Party(remote: address, realm: realm.id), state: .active)
  }

  /// Returns the wish with the stored user. Nothing of the room has been written yet.
  mutating func known(_ wish: MemberWish, metBy author: Party) throws -> MemberWish {
    MemberWish(draft: wish.draft, party: try known(wish.party, metBy: author), was: wish.was)
  }

  /// Checks one change. `count` is the number of members, including those of the drafts before this one.
  private mutating func check(
    _ draft: MemberDraft, of user: CachedUser, was: Member?, actor: Affiliation, by author: Party,
    in state: RoomCache.State, count: Int, isFromBackend: Bool
  ) throws {
    let party = user.party
    let before = was?.affiliation ?? .none
    let after = draft.affiliation ?? before
    do throws(ChangeRefusal) {
      if party.id == author.id, after < before {
        try actor.mayBecome(after)
      } else if party.id == author.id, after == before, before.isMember {
        // A user may change their own nick.
      } else {
        try actor.mayChange(from: before, to: after)
      }
    } catch {
      throw Problem(error)
    }
    if let nick = draft.nick, !nick.isEmpty {
      guard after.isMember else { throw Problem.nickInvalid }
      guard try isFree(Self.nick(nick), for: party.id, in: state) else { throw Problem.nickTaken }
      if party.id == author.id { try holdIfVoiceless(nick, of: author, was, in: state.room) }
    }
    if after.isMember, !before.isMember {
      try checkRemote(party, after, in: state.room)
      if count >= Limits.membersMax { throw Problem.memberListFull }
      // A user who blocks the author appears unknown to them (XEP-0191 3.3).
      guard user.state == .active, try !isBlocked(author, resource: nil, by: party) else {
        throw Problem.userUnknown(draft.address)
      }
      try checkRooms(of: party, for: author, isFromBackend: isFromBackend)
    }
  }

  /// Counts the nick that a member takes for themselves who has no voice.
  private mutating func holdIfVoiceless(
    _ nick: String, of author: Party, _ member: Member?, in room: Room
  ) throws(Problem) {
    let present = rooms.occupants(of: room.id)?.occupant(of: author.id)
    let role = present?.role ?? member?.affiliation.role(isModerated: false)
    guard let role, room.settings.speakingRole(of: role) == .visitor else { return }
    try hold(Self.nick(nick).nick, after: present?.nick ?? member?.nick, of: author, in: room)
  }

  /// Checks that a user is not in more rooms than can be listed. Those that others put the user into have a bound of their
  /// own, so that nobody can use up the rooms that the user makes and enters.
  mutating func checkRooms(of party: Party, for author: Party, isFromBackend: Bool = false) throws {
    let count = try writer.membershipCount(of: party.id)
    if party == author {
      if count < Limits.roomsPerUserMax { return }
      let own = count - (try writer.membershipCount(of: party.id, invitedBy: nil))
      if own >= Limits.roomsPerUserMax || count >= 2 * Limits.roomsPerUserMax { throw Problem.noRoomsLeft }
      return
    }
    if count >= Limits.roomsPerUserMax { throw Problem.roomsOfUserFull }
    if count < Limits.roomsOfUserByOneMax || isFromBackend || sending.isUnlimited(author, in: realms) { return }
    if try writer.membershipCount(of: party.id, invitedBy: author.id) >= Limits.roomsOfUserByOneMax {
      throw Problem.roomsOfUserByOneFull
    }
  }

  private mutating func checkBans(
    _ changes: [MemberWish], in state: RoomCache.State
  ) throws {
    let bans = changes.count { $0.draft.affiliation == .outcast && $0.was?.affiliation != .outcast }
    if bans == 0 { return }
    if state.outcasts == nil {
      var count = 0
      var after: UserID?
      repeat {
        let page = try writer.members(
          of: .server(state.room.id, .rules).only([.outcast]), after: after, limit: Limits.feedPageMax)
        count += page.count
        after = page.count < Limits.feedPageMax ? nil : page.last?.party.id
      } while after != nil
      state.outcasts = count
    }
    if let outcasts = state.outcasts, outcasts + bans > Limits.membersMax { throw Problem.memberListFull }
  }

  /// Checks that the room keeps an owner.
  private mutating func checkOwners(
    _ changes: [UserID: Bool], in state: RoomCache.State
  ) throws {
    guard changes.values.contains(false) else { return }
    if changes.values.contains(true) { return }
    let owners = try writer.members(
      of: .server(state.room.id, .rules).only([.owner]), after: nil, limit: changes.count + 1)
    if !owners.contains(where: { changes[$0.party.id] == nil }),
      owners.contains(where: { changes[$0.party.id] == false })
    {
      throw Problem.lastOwner
    }
  }

  /// Applies a change. Returns its entry; `nil` if nothing changes.
  @discardableResult
  mutating func apply(
    _ draft: MemberDraft, to party: Party, was: Member?, by post: Post, in state: RoomCache.State,
    continuing: Invitation.Continuation? = nil
  ) throws -> Entry? {
    let before = was?.affiliation ?? .none
    let after = draft.affiliation ?? before
    // In a new room a nick is only a wish: two members may ask for the same.
    let wish = draft.nick.flatMap { $0.isEmpty ? nil : $0 }
    let nick = try wish.map { try freeNick(for: party, wish: $0, in: state) }
    let isFreed = draft.nick == "" && was?.nick != nil
    guard after != before || isFreed || (nick != nil && nick != was?.nick) else {
      if nick != nil, let was, !was.isNickRegistered {
        try store(with(was) { $0.isNickRegistered = true }, in: state)
      }
      return nil
    }
    if draft.keepsRoom, after.isMember, !before.isMember { try keep(state, by: post) }

    var reason = Self.cut(draft.reason)
    // The reason why somebody becomes a member is a message to them.
    if reason != nil, after.isMember, !before.isMember, try !mayWrite(post.author, to: party) { reason = nil }
    let feeds = after.isMember != before.isMember ? FeedRow.rows(of: party, [.inbound]) : []
    Self.count(from: before, to: after, in: state)
    let kept = try after.isMember && !isFreed ? keptNick(of: party, was, nick, by: post, in: state) : nil
    let shownNick = kept ?? was?.nick
    // A change between affiliations of members does not end a kick.
    let wasKicked = was?.isKicked ?? false
    let isKicked = wasKicked && before.isMember && after.isMember
    let entry = try note(
      .member(
        MemberChange(
          party: party, was: before, now: after, nick: shownNick, reason: reason, wasKicked: wasKicked,
          isKicked: isKicked)),
      by: post.author, in: state, feeds: feeds)
    let member = Member(
      room: state.room.id, party: party, affiliation: after, nick: kept,
      isNickRegistered: kept != nil && (nick != nil || was?.isNickRegistered == true),
      since: after.isMember && before.isMember ? was?.since ?? entry.position : entry.position,
      joinedAt: after.isMember && before.isMember ? was?.joinedAt ?? time : time,
      version: after == before ? was?.version ?? entry.position : entry.position,
      reason: after == .outcast ? reason : nil, isKicked: isKicked)
    try store(member, in: state)
    // Only affiliations are in the list, not nicks.
    var step: MemberListStep?
    if after != before {
      step = MemberListStep(
        since: state.room.version, until: entry.position, readers: state.room.settings.listReaders)
      state.room.version = entry.position
    }
    rooms.changed(state)
    follow(party, was: before, now: after, entry, post)
    let notice = step.map { step in
      RoomNotice(
        room: state.room.name,
        kind: .member(MemberChange(party: party, was: before, now: after, nick: shownNick, reason: reason)),
        listStep: step)
    }
    try show(member, from: before, notice, step, reason: reason, by: post, in: state, continuing)
    return entry
  }

  /// Counts the members and outcasts of a room after a change.
  private static func count(from before: Affiliation, to after: Affiliation, in state: RoomCache.State) {
    if after.isMember && !before.isMember { state.room.memberCount += 1 }
    if !after.isMember && before.isMember { state.room.memberCount -= 1 }
    if let outcasts = state.outcasts {
      state.outcasts = outcasts + (after == .outcast ? 1 : 0) - (before == .outcast ? 1 : 0)
    }
  }

  /// Returns the nick that a member has from now on; `nil` for one who chooses it when they enter.
  private mutating func keptNick(
    of party: Party, _ was: Member?, _ nick: String?, by post: Post, in state: RoomCache.State
  ) throws -> String? {
    if let kept = nick ?? was?.nick ?? rooms.occupants(of: state.room.id)?.occupant(of: party.id)?.nick { return kept }
    let isMember = was?.affiliation.isMember ?? false
    // Members who join, or whose app is connected, come now; all others choose a nick when they enter.
    guard !isMember, party.id == post.author.id || !appSessions(of: party.id).isEmpty else { return nil }
    return try freeNick(for: party, wish: nil, in: state)
  }

  /// Shows the occupants a person's new affiliation, and lets a new member and one who is none any more know of it.
  private mutating func show(
    _ member: Member, from before: Affiliation, _ notice: RoomNotice?, _ step: MemberListStep?, reason: String?,
    by post: Post, in state: RoomCache.State, _ continuing: Invitation.Continuation?
  ) throws {
    let (party, after) = (member.party, member.affiliation)
    let wasThere = rooms.occupants(of: state.room.id)?.key(of: party.id) != nil
    if after.isMember, !before.isMember { try comeAll(party, to: state.room.id, step: step) }
    let isThere = rooms.occupants(of: state.room.id)?.occupant(of: party.id)
    if wasThere || isThere == nil {
      try changeOccupant(party, from: before, to: member, notice, reason: reason, by: post, in: state)
    } else if isThere?.isShown == false {
      tell(notice, in: state.room)
    }
    // Otherwise they have just entered, and were shown with the new affiliation.
    if after.isMember, !before.isMember, party.id != post.author.id {
      let isTold = try bookmark(state.room, for: party, nick: member.nick)
      try tellInvitation(
        to: party, in: state, by: post.author, reason: reason, isBookmarked: isTold, continuing)
    } else if !after.isMember, before.isMember {
      try unbookmark(state.room, for: party)
    }
  }

  /// Adds the app sessions of a new member to the occupants.
  mutating func comeAll(
    _ party: Party, to room: DialogID, step: MemberListStep? = nil
  ) throws {
    for onlineSession in appSessions(of: party.id) {
      try come(onlineSession, to: room, step: step)
    }
  }

  /// Announces the entry itself to joining and leaving members: it is in their feed.
  private mutating func follow(_ party: Party, was: Affiliation, now: Affiliation, _ entry: Entry, _ post: Post) {
    let comes = now.isMember && !was.isMember
    let goes = !now.isMember && was.isMember
    if comes {
      let membership = RoomCache.Membership(room: entry.dialog, seesAddresses: now.seesAddresses)
      for onlineSession in appSessions(of: party.id) { tell(.followed([membership], onlineSession.session)) }
    } else if now.seesAddresses != was.seesAddresses {
      tell(.seesAddresses(now.seesAddresses, party.id, entry.dialog))
    }
    tell(.entry(entry, author: session(of: post)))
    if goes { tell(.unfollowed(party.id, entry.dialog)) }
  }

  /// Updates an occupant whose affiliation changed (9.1 to 9.8), or tells the occupants about an absent user. `notice`
  /// announces the affiliation where no presence does; `nil` if it is the same.
  private mutating func changeOccupant(
    _ party: Party, from before: Affiliation, to member: Member, _ notice: RoomNotice?, reason: String?,
    by post: Post, in state: RoomCache.State
  ) throws {
    let after = member.affiliation
    let room = state.room
    let isForMembers = room.settings.isMembersOnly || isElsewhere(party) && hub.federation?.rooms == .members
    let isPutOut = after == .outcast || (isForMembers && !after.isMember)
    if !after.isMember, !isPutOut, let present = rooms.occupants(of: room.id)?.occupant(of: party.id) {
      // The app protocol shows rooms to members only: their app sessions leave.
      for occupantSession in present.sessions where occupantSession.isApp {
        _ = leave(room, occupantSession.session.id, nil, isHeard: false)
      }
    }
    guard let key = rooms.occupants(of: room.id)?.key(of: party.id) else { return tell(notice, in: room) }
    let actor = rooms.occupants(of: room.id)?.occupant(of: post.author.id)?.nick
    if isPutOut {
      // 9.1; 9.4.
      let wasShown = rooms.occupants(of: room.id)?.byKey[key]?.isShown ?? false
      expel(
        key, from: room, affiliation: after, codes: after == .outcast ? [301] : [321], actor: actor, reason: reason,
        listStep: notice?.listStep)
      // Those who have never seen the occupant are told as for an absent user.
      if !wasShown { tell(notice, in: room) }
      return
    }
    var codes: [UInt16] = []
    if let nick = member.nick, let present = rooms.occupants(of: room.id)?.byKey[key], nick != present.nick,
      let newKey = try? Precis.nicknameKey(nick)
    {
      let leaving = occupantPresence(
        of: present, in: room, presence: unavailable(party, present.sessions.last?.presence.resource),
        role: present.role,
        codes: [303], newNick: nick)
      tell(leaving, of: present)
      _ = rooms.occupy(room.id) { $0.rename(from: key, to: newKey, nick: nick) }
      // The room has changed the nick (7.10).
      codes = [210]
    }
    guard let now = rooms.occupants(of: room.id)?.key(of: party.id) else { return }
    // A new nick leaves the role unchanged: a silenced user stays silenced.
    let changes = after != before
    let role = changes ? after.role(isModerated: room.settings.isModerated) : nil
    guard
      let occupant = rooms.occupy(
        room.id, { $0.set(affiliation: after, role: role, isShown: changes ? true : nil, key: now) })
    else { return }
    if changes { tell(.moderates(occupant.role == .moderator, party.id, room.id)) }
    tell(
      occupantPresence(
        of: occupant, in: room, codes: codes, actor: actor, reason: reason, listStep: notice?.listStep), of: occupant)
  }

  /// Announces a user's affiliation by a message.
  private mutating func tell(_ notice: RoomNotice?, in room: Room) {
    guard let notice else { return }
    tell(.notice(notice, showsAddresses: room.settings.showsAddresses, moderatorsOnly: false))
  }

  /// Sends a presence to everyone; that of an occupant who is not shown only to their own sessions.
  mutating func tell(_ presence: OccupantPresence, of occupant: Occupants.Occupant) {
    if occupant.isShown {
      tell(.occupant(presence, except: nil))
    } else {
      tell(.shown(presence, to: occupant.listeners, own: true))
    }
  }

  /// Removes an occupant with all sessions.
  mutating func expel(
    _ key: String, from room: Room, affiliation: Affiliation, codes: [UInt16], actor: String? = nil,
    reason: String? = nil, destroyed: OccupantPresence.Destroyed? = nil, listStep: MemberListStep? = nil
  ) {
    guard let occupant = rooms.occupy(room.id, { $0.remove(key: key) }) else { return }
    let presence = occupantPresence(
      of: occupant, in: room, presence: unavailable(occupant.party, occupant.sessions.last?.presence.resource),
      role: Role.none, affiliation: affiliation, codes: codes, actor: actor, reason: reason, destroyed: destroyed,
      listStep: listStep)
    if destroyed != nil {
      // Each occupant is told of the end only by their own presence (10.9).
      tell(.shown(presence, to: occupant.listeners, own: true))
    } else {
      tell(presence, of: occupant)
    }
    for occupantSession in occupant.sessions {
      rooms.setPresent(occupantSession.session.id, of: occupant.party.id, in: room.id, false)
      tell(.sessionLeft(occupantSession.session.id, room.id))
    }
  }

  // MARK: Roles

  mutating func roles(
    _ post: Post, _ reference: RoomReference, _ drafts: [RoleDraft]
  ) throws {
    if drafts.count > Limits.memberChangesMax {
      throw Problem(.tooLarge, "too-many-changes", "At most \(Limits.memberChangesMax) people change at a time.")
    }
    let state = try find(reference, for: post.author)
    let affiliation = try affiliation(of: post.author.id, in: state)
    let occupants = rooms.occupants(of: state.room.id)
    let actor = occupants?.occupant(of: post.author.id)
    guard affiliation >= .admin || actor?.role == .moderator else { throw Problem.notModerator }
    var changes: [(key: String, draft: RoleDraft)] = []
    for draft in drafts {
      guard let (_, key) = try? Self.nick(draft.nick), let target = occupants?.byKey[key] else {
        // Whoever has left since the request began has no role any more.
        if post.begun != nil { continue }
        throw Problem.occupantUnknown
      }
      do throws(ChangeRefusal) {
        try (actor?.role ?? affiliation.role(isModerated: true)).mayChange(
          target.role, to: draft.role, actor: affiliation, target: target.affiliation)
      } catch {
        throw error == .powerless ? Problem.notModerator : Problem(error)
      }
      changes.append((key, draft))
    }
    var isSeen = post.begun?.isSpread == true
    for (key, draft) in changes.prefix(Limits.memberChangesAtOnce) {
      let reason = Self.cut(draft.reason)
      if draft.role == .none {
        let target = rooms.occupants(of: state.room.id)?.byKey[key]
        isSeen = isSeen || target?.isShown == true
        expel(
          key, from: state.room, affiliation: target?.affiliation ?? .none, codes: [307], actor: actor?.nick,
          reason: reason)
        if let target, try silence(target.party, reason: reason, post, in: state) { isSeen = true }
      } else if let occupant = rooms.occupy(
        state.room.id, { $0.set(role: draft.role, isShown: draft.role == .moderator ? true : nil, key: key) })
      {
        isSeen = isSeen || occupant.isShown
        tell(.moderates(draft.role == .moderator, occupant.party.id, state.room.id))
        tell(occupantPresence(of: occupant, in: state.room, actor: actor?.nick, reason: reason), of: occupant)
      }
    }
    let left = changes.dropFirst(Limits.memberChangesAtOnce).map { $0.draft }
    if !left.isEmpty {
      return leave(Post.Begun(left: .room(.roles(reference, left)), entry: nil, isSpread: isSeen))
    }
    if !isSeen { post.charge?.giveBack(now: now) }
    settle(post)
  }

  /// Marks a kicked member, who may read but not write until they come back; for a user who follows the room with the
  /// app a kick would have no effect otherwise. Returns whether it is one who was not marked.
  private mutating func silence(
    _ party: Party, reason: String?, _ post: Post, in state: RoomCache.State
  ) throws -> Bool {
    guard let member = try member(party.id, in: state), member.affiliation.isMember, !member.isKicked
    else { return false }
    try store(with(member) { $0.isKicked = true }, in: state)
    let entry = try note(
      .member(
        MemberChange(
          party: party, was: member.affiliation, now: member.affiliation, nick: member.nick, reason: reason,
          isKicked: true)),
      by: post.author, in: state)
    tell(.entry(entry, author: session(of: post)))
    return true
  }

  /// Ends the kick of the author, who comes back. Returns `nil` if they were not kicked.
  mutating func readmit(_ post: Post, to state: RoomCache.State) throws -> Entry? {
    guard let member = try member(post.author.id, in: state), member.isKicked else { return nil }
    try store(with(member) { $0.isKicked = false }, in: state)
    let entry = try note(
      .member(
        MemberChange(
          party: member.party, was: member.affiliation, now: member.affiliation, nick: member.nick, reason: nil,
          wasKicked: true)),
      by: post.author, in: state)
    tell(.entry(entry, author: session(of: post)))
    return entry
  }

  mutating func askForVoice(_ post: Post, _ reference: RoomReference) throws {
    let state = try find(reference, for: post.author)
    guard let occupant = session(of: post).flatMap({ rooms.occupants(of: state.room.id)?.occupant(of: $0) }) else {
      throw Problem.notOccupant
    }
    // Occupants with voice may ask, but moderators are not asked.
    if occupant.role == .visitor {
      if !sending.isUnlimited(post.author, in: realms),
        let seconds = rooms.wait(toAskForVoiceIn: state.room.id, as: post.author.id, now: now)
      {
        throw Problem.visitor(wait: seconds)
      }
      tell(
        .notice(
          RoomNotice(room: state.room.name, kind: .voiceRequest(nick: occupant.nick, occupant.party)),
          showsAddresses: true, moderatorsOnly: true))
    }
    settle(post)
  }

  // MARK: Invitations

  mutating func invite(
    _ post: Post, _ reference: RoomReference, _ address: BareJID, _ reason: String?,
    _ continuing: Invitation.Continuation?
  ) throws {
    let (state, affiliation) = try findAsMember(reference, for: post.author)
    var invited = try reachable(address, for: post.author, as: affiliation, in: state.room)
    if try isBlocked(post.author, resource: nil, by: invited) { return settle(post) }
    try checkOutbox(from: post.author, to: invited)
    let was = try member(invited.id, in: state)
    if try member(post.author.id, in: state)?.isKicked == true { throw Problem.roomKicked }
    // Inviting to a members-only room makes a member (7.8.2).
    let admits = state.room.settings.isMembersOnly && was?.affiliation.isMember != true
    try checkRemote(invited, admits ? .member : was?.affiliation ?? .none, in: state.room)
    if admits, affiliation < .admin, affiliation < .member || !state.room.settings.membersInvite {
      throw Problem.notAdmin
    }
    if try isBanned(invited, was?.affiliation ?? .none, in: state) {
      // A banned user is not invited without an admin, and an inviter who may not see outcasts does not learn of the
      // ban.
      if affiliation.seesOutcasts { throw Problem.outranked }
      return settle(post)
    }
    if admits {
      if state.room.memberCount >= Limits.membersMax { throw Problem.memberListFull }
      try checkRooms(of: invited, for: post.author)
    }
    if !invited.realm.isRemote { try checkStranger(post.author, invited.address) }
    invited = try known(invited, metBy: post.author)
    if admits {
      try apply(
        MemberDraft(address: address, affiliation: .member, reason: reason), to: invited, was: was, by: post,
        in: state, continuing: continuing)
    } else {
      // The reason is a message to the invited, the invitation the room's.
      let isHeard = try mayWrite(post.author, to: invited)
      try tellInvitation(
        to: invited, in: state, by: post.author, reason: isHeard ? Self.cut(reason) : nil, continuing)
    }
    settle(post)
  }

  /// Returns the active user who is invited. The room invites, so a member and the invited may both be users of other
  /// servers; others may not use this server to write from one other server to another.
  private mutating func reachable(
    _ address: BareJID, for inviter: Party, as affiliation: Affiliation, in room: Room
  ) throws -> Party {
    guard inviter.realm.isRemote, affiliation.isMember else { return try reachable(address, for: inviter) }
    guard let user = try person(address, in: room.name.realm), user.state == .active else { throw Problem.unreachable }
    return user.party
  }

  /// Writes an invitation, which is kept until the invited user's client has received it, like a message.
  private mutating func tellInvitation(
    to invited: Party, in state: RoomCache.State, by inviter: Party, reason: String?, isBookmarked: Bool = false,
    _ continuing: Invitation.Continuation?
  ) throws {
    let room = state.room
    let thread = continuing?.thread.flatMap { $0.utf8.count <= Limits.threadBytesMax ? $0 : nil }
    let invitation = Invitation(
      room: room.name, inviter: inviter, reason: reason, password: room.settings.password,
      isBookmarked: isBookmarked, name: room.settings.name,
      continuing: continuing.map { _ in Invitation.Continuation(thread: thread) })
    let affiliation = try affiliation(of: invited.id, in: state)
    let entry = try insertOwn(
      .invitation(invitation), of: invited, at: nextPosition(), traits: [.inbound, .replayed],
      isSemiAnonymous: !room.showsPeople(to: affiliation), isInFeed: !isElsewhere(invited))
    if isElsewhere(invited) { try owe(invitation, entry, to: invited) }
    try writer.putInvitation(of: invited.id, by: inviter.id, to: room.id, at: entry.position)
    tell(.entry(entry, author: nil))
  }

  mutating func decline(
    _ post: Post, _ reference: RoomReference, _ address: BareJID, _ reason: String?, id: String?, extras: [UInt8]
  ) throws {
    let state = try find(reference, for: post.author)
    // Only an invited user may decline, once: a room cannot be used to reach others.
    guard let inviter = try user(address, seenFrom: state.room.name.realm)?.party,
      try writer.isInvited(post.author.id, by: inviter.id, to: state.room.id)
    else { return settle(post) }
    try writer.removeInvitation(of: post.author.id, by: inviter.id, to: state.room.id)
    if try isBlocked(post.author, resource: nil, by: inviter) { return settle(post) }
    let present = rooms.occupants(of: state.room.id)?.occupant(of: inviter.id)?.listeners ?? []
    // Those who invite need not be in the room (7.8.2).
    if present.isEmpty, inviter.realm.isRemote {
      let declined = RelayedStanza(
        name: .message(.normal), from: post.author, fromResource: nil, room: state.room.name, to: inviter.address,
        toResource: nil, id: id, extras: extras)
      try send(declined, to: inviter, by: nil)
      return settle(post)
    }
    let listeners =
      present.isEmpty
      ? hub.onlineSessions(of: inviter.id).filter { $0.door == .xmpp && $0.isAvailable }.map(\.session) : present
    tell(
      .told(
        RoomNotice(room: state.room.name, kind: .declined(by: post.author.address, reason: Self.cut(reason))),
        to: listeners))
    settle(post)
  }

  // MARK: Registration

  mutating func register(
    _ post: Post, _ reference: RoomReference, nick: String?, bookmarks: Bool
  ) throws {
    let state = try find(reference, for: post.author)
    let was = try member(post.author.id, in: state)
    if try isBanned(post.author, was?.affiliation ?? .none, in: state) { throw Problem.roomBanned }
    if was?.affiliation.isMember != true, state.room.settings.isMembersOnly { throw Problem.roomCannotRegister }
    if was?.affiliation.isMember != true {
      try require(.memberships, of: post.author)
      // Members can read the room, so they must know its password.
      if state.room.settings.password != nil, rooms.occupants(of: state.room.id)?.key(of: post.author.id) == nil {
        throw Problem.roomPassword
      }
      if state.room.memberCount >= Limits.membersMax { throw Problem.memberListFull }
      try checkRooms(of: post.author, for: post.author)
    }
    if let nick {
      guard try isFree(Self.nick(nick), for: post.author.id, in: state) else { throw Problem.nickTaken }
      try holdIfVoiceless(nick, of: post.author, was, in: state.room)
    }
    let post = Post(post, from: try known(post.author))
    let readmitted = try readmit(post, to: state)
    let entry =
      try apply(
        MemberDraft(
          address: post.author.address, affiliation: was?.affiliation.isMember == true ? nil : .member, nick: nick,
          keepsRoom: bookmarks),
        to: post.author, was: try member(post.author.id, in: state), by: post, in: state) ?? readmitted
    if readmitted != nil { try comeAll(post.author, to: state.room.id) }
    if bookmarks, was?.affiliation.isMember != true {
      let nick = try member(post.author.id, in: state)?.nick
      _ = try bookmark(state.room, for: post.author, nick: nick)
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    receipt.isRepeat = entry == nil
    settle(post, receipt)
  }
}
