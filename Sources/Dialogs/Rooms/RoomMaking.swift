import Addresses

/// Creating and configuring a room (XEP-0045 10).
extension Judge {
  // MARK: Creating

  mutating func create(_ post: Post, _ draft: RoomDraft) throws {
    let author = post.author
    if let begun = post.begun, let id = begun.room {
      let state = try find(.dialog(id), for: author)
      guard try affiliation(of: author.id, in: state) == .owner else { throw Problem.notOwner }
      let members = try firstMembers(Array(draft.members.prefix(Limits.memberChangesAtOnce)), by: post)
      let rest = Array(draft.members.dropFirst(Limits.memberChangesAtOnce))
      return try fill(state, with: members, draft, post, begun.entry, rest: rest)
    }
    try require(.rooms, of: author)
    if let externalID = draft.externalID {
      guard !externalID.text.isEmpty, externalID.text.utf8.count <= Limits.externalIDBytesMax else {
        throw Problem(
          .malformed, "external-id-invalid", "An externalId has 1 to \(Limits.externalIDBytesMax) bytes.",
          field: "externalId")
      }
      if let known = try writer.room(externalID: externalID, in: author.realm) {
        let state = rooms.states[known.id] ?? rooms.put(known)
        if known.isDestroyed { throw Problem.roomDestroyed }
        // The owner may have left the room since, and may not know of it any more unless it is listed.
        guard try state.room.settings.isListed || affiliation(of: author.id, in: state).isMember else {
          throw Problem(
            .conflict, "external-id-taken", "This externalId is another dialog's.", field: "externalId")
        }
        if try writer.value(of: known.id, node: ValueKey.unfilled, item: ValueKey.bytes) != nil,
          try affiliation(of: author.id, in: state) == .owner
        {
          let members = try firstMembers(draft.members.filter { $0.address != author.address }, by: post)
          return try fill(state, with: members, draft, post, nil)
        }
        var receipt = Receipt(position: head)
        receipt.isRepeat = true
        receipt.room = state.room
        return settle(post, receipt)
      }
    }
    try check(draft.settings, in: author.realm)
    if let topic = draft.topic, topic.utf8.count > Limits.topicBytesMax {
      throw Problem(.tooLarge, "topic-too-long", "A topic has at most \(Limits.topicBytesMax) bytes.", field: "topic")
    }
    let members = try firstMembers(draft.members.filter { $0.address != author.address }, by: post)
    try pace(post)
    let state = try make(
      post, localpart: draft.localpart ?? Self.randomName(), externalID: draft.externalID,
      settings: draft.settings, nick: nil)
    state.room.memberCount = 1
    let created = try note(.created, by: author, in: state)
    try own(state, by: author, nick: nil, created)
    tell(.entry(created, author: session(of: post)))
    // A creator who enters as an occupant has a client that bookmarks the room, or does not want to.
    _ = try bookmark(state.room, for: author, nick: member(author.id, in: state)?.nick)
    try fill(state, with: members, draft, post, created)
  }

  /// Adds those of the first members whom one post adds, and leaves the others to further posts. The last of these sets the topic and
  /// has the outcome. After a crash between two of them the room has some of its members: a room with an `externalID` has a mark of it,
  /// and a repeat of the request adds the others.
  ///
  /// - Parameters:
  ///   - created: the first entry of the room; `nil` for such a repeat.
  ///   - rest: further members, whom later posts check again.
  private mutating func fill(
    _ state: RoomCache.State, with members: [MemberWish], _ draft: RoomDraft, _ post: Post, _ created: Entry?,
    rest: [MemberDraft] = []
  ) throws {
    // Without those who have been added by the interrupted request, or have come or been banned since.
    let now = try members.prefix(Limits.memberChangesAtOnce).filter { try member($0.party.id, in: state) == nil }
    if state.room.memberCount + now.count > Limits.membersMax { throw Problem.memberListFull }
    for wish in now { try apply(wish.draft, to: wish.party, was: nil, by: post, in: state) }
    var left = draft
    left.members = members.dropFirst(Limits.memberChangesAtOnce).map(\.draft) + rest
    if !left.members.isEmpty {
      if draft.externalID != nil, post.begun == nil {
        try writer.setValue(of: state.room.id, node: ValueKey.unfilled, item: ValueKey.bytes, [])
      }
      return leave(Post.Begun(left: .room(.create(left)), entry: created, room: state.room.id))
    }
    if draft.externalID != nil, post.begun != nil || created == nil {
      try writer.setValue(of: state.room.id, node: ValueKey.unfilled, item: ValueKey.bytes, nil)
    }
    if let topic = draft.topic, !topic.isEmpty, state.room.topic == nil {
      let topic = Topic(text: topic, nick: try member(post.author.id, in: state)?.nick, time: time)
      state.room.topic = topic
      rooms.changed(state)
      tell(.entry(try note(.topic(topic), by: post.author, in: state), author: session(of: post)))
    }
    var receipt = Receipt(position: head)
    receipt.room = state.room
    receipt.entry = created
    receipt.isRepeat = created == nil
    settle(post, receipt)
  }

  /// Checks the first members before the room is created.
  private mutating func firstMembers(
    _ drafts: [MemberDraft], by post: Post
  ) throws -> [MemberWish] {
    let author = post.author
    if drafts.count > Limits.memberChangesMax {
      throw Problem(
        .tooLarge, "too-many-members", "At most \(Limits.memberChangesMax) people at a time.", field: "memberIds")
    }
    if post.begun == nil { try checkRooms(of: author, for: author) }
    var named: Set<UserID> = []
    var wishes: [MemberWish] = []
    for var draft in drafts {
      guard let user = try person(draft.address, in: author.realm), user.state == .active,
        try !isBlocked(author, resource: nil, by: user.party)
      else { throw Problem.userUnknown(draft.address, field: "memberIds") }
      if !named.insert(user.party.id).inserted { throw Problem.personNamedTwice }
      if let nick = draft.nick { _ = try Self.nick(nick) }
      let affiliation = draft.affiliation ?? .member
      if affiliation == .none, user.party != author { continue }
      if affiliation.isMember, user.party != author {
        try checkRooms(of: user.party, for: author, isFromBackend: post.isFromBackend)
      }
      draft.affiliation = affiliation
      wishes.append(MemberWish(draft: draft, party: user.party, was: nil))
    }
    return try wishes.map { try known($0, metBy: author) }
  }

  /// Counts a lasting room for its creator, unless an operator or a backend makes it.
  private mutating func pace(_ post: Post) throws {
    if post.isFromBackend || sending.isUnlimited(post.author, in: realms) { return }
    if let wait = rooms.wait(toMakeLasting: post.author.id, now: time) { throw Problem.roomsTooFast(wait) }
  }

  private mutating func make(
    _ post: Post, localpart: String, externalID: ExternalID?, settings: RoomSettings, nick: String?
  ) throws -> RoomCache.State {
    guard let realm = realms.realm(post.author.realm), localpart.utf8.count <= Limits.roomNameBytesMax,
      let address = try? BareJID(local: localpart, domain: realm.rooms), let local = address.local
    else { throw Problem(.malformed, "room-name-invalid", "This cannot be a room's name.", field: "name") }
    if rooms.leases[address] != nil { throw Problem.roomTaken }
    if let before = try writer.room(at: address) { try release(before, to: post.author) }
    // The first entry has none of these texts; indexes have the names again.
    countBeside(settings.textBytes + 2 * (local.utf8.count + (externalID?.text.utf8.count ?? 0)))
    return rooms.put(
      try writer.insertRoom(
        localpart: local, in: realm.id, externalID: externalID, settings: settings, createdAt: time))
  }

  /// Makes the creator the first owner, from the room's first entry on.
  private mutating func own(
    _ state: RoomCache.State, by author: Party, nick: String?, _ created: Entry
  ) throws {
    let nick = try nick ?? freeNick(for: author, wish: nil, in: state)
    state.room.version = created.position
    rooms.changed(state)
    try store(
      Member(
        room: state.room.id, party: author, affiliation: .owner, nick: nick, since: created.position.previous,
        joinedAt: time, version: created.position),
      in: state)
    for onlineSession in appSessions(of: author.id) {
      tell(.followed([RoomCache.Membership(room: state.room.id, seesAddresses: true)], onlineSession.session))
    }
    try comeAll(author, to: state.room.id)
  }

  // MARK: Settings

  mutating func configure(
    _ post: Post, _ reference: RoomReference, _ draft: SettingsDraft
  ) throws {
    if case .address(let address) = reference, let lease = rooms.leases[address], lease.party.id == post.author.id,
      try lookUp(reference, for: post.author)?.room.isDestroyed != false
    {
      // A picture is no form (10.1.3).
      if draft.avatar != nil, lease.isLocked, lease.session.id != session(of: post) { throw Problem.roomLocked }
      let (state, created, rest) = try found(post, address, lease, draft)
      if !rest.isEmpty {
        let left = SettingsDraft(members: rest) { _ in }
        return leave(Post.Begun(left: .room(.configure(.dialog(state.room.id), left)), entry: created))
      }
      var receipt = Receipt(position: head)
      receipt.room = state.room
      receipt.entry = created
      return settle(post, receipt)
    }
    let state = try find(reference, for: post.author)
    let affiliation = try affiliation(of: post.author.id, in: state)
    guard affiliation >= .admin else { throw affiliation.isMember ? Problem.notAdmin : try refusal(state, post) }
    let was = state.room.settings
    let settings = try changed(was, by: draft)
    // Admins may change a room's appearance, owners also who may enter.
    if affiliation < .owner, !Self.differOnlyInLook(was, settings) || !draft.members.isEmpty { throw Problem.notOwner }
    if !settings.isPersistent, was.lifetime == .kept { throw Problem.roomKept }
    try check(settings, was: was, in: state.room.name.realm)
    try checkStays(post.author, settings, was: was)
    let (piece, rest) = try pieces(of: draft.members, by: post)
    if post.begun == nil, !rest.isEmpty { _ = try changes(draft.members, by: post.author, as: affiliation, in: state) }
    let wishes = try changes(piece, by: post.author, as: affiliation, in: state)
    for wish in wishes { try apply(wish.draft, to: wish.party, was: wish.was, by: post, in: state) }
    if !rest.isEmpty {
      var left = draft
      left.members = rest
      return leave(Post.Begun(left: .room(.configure(reference, left)), entry: post.begun?.entry))
    }
    if let avatar = draft.avatar { try set(avatar, in: state) }
    var receipt = Receipt(position: head)
    receipt.entry = post.begun?.entry
    receipt.room = state.room
    if settings != was {
      if settings.slowModeSeconds == 0 { rooms.hurry(state.room.id) }
      receipt.entry = try set(settings, in: state, by: post)
      if !settings.isPersistent { rooms.noteLeft(state.room.id) }
    } else {
      receipt.isRepeat = draft.members.isEmpty
    }
    // Also if nothing changes: the further posts of an earlier request may be lost.
    if try hasOutsiders(state) {
      return leave(
        Post.Begun(
          left: .room(.expelOutsiders(state.room.id)), entry: receipt.entry, hasChanged: !receipt.isRepeat))
    }
    receipt.position = head
    receipt.room = state.room
    settle(post, receipt)
  }

  /// Returns the settings with the changes of a draft, and the hash of its avatar.
  private func changed(_ was: RoomSettings, by draft: SettingsDraft) throws(Problem) -> RoomSettings {
    var settings = was
    draft.apply(&settings)
    if let avatar = draft.avatar {
      if let avatar, avatar.bytes.count > Limits.avatarBytesMax {
        throw Problem(
          .tooLarge, "avatar-too-large", "An avatar has at most \(Limits.avatarBytesMax) bytes.", field: "avatar")
      }
      settings.avatarHash = avatar?.hash
    }
    return settings
  }

  /// Changes the settings, which the log notes and the occupants are told.
  private mutating func set(_ settings: RoomSettings, in state: RoomCache.State, by post: Post) throws -> Entry {
    let was = state.room.settings
    state.room.settings = settings
    rooms.changed(state)
    // The log is permanent and read by all: it contains no password.
    let entry = try note(.settings(settings.withoutPassword, was: was.withoutPassword), by: post.author, in: state)
    tell(.entry(entry, author: session(of: post)))
    try settingsChanged(from: was, in: state, by: post.author.id)
    return entry
  }

  /// Keeps the room for a user of the app, who has been promised to find it again: it is persistent from now on, and no
  /// owner makes it temporary. The occupants of a temporary room are told of the change.
  mutating func keep(_ state: RoomCache.State, by post: Post) throws {
    var settings = state.room.settings
    guard settings.lifetime != .kept else { return }
    let isNews = !settings.isPersistent
    settings.lifetime = .kept
    if isNews {
      _ = try set(settings, in: state, by: post)
    } else {
      state.room.settings = settings
      rooms.changed(state)
    }
  }

  /// Returns the refusal: for those who do not belong to a members-only room it does not exist.
  private func refusal(_ state: RoomCache.State, _ post: Post) throws -> Problem {
    rooms.occupants(of: state.room.id)?.occupant(of: post.author.id) != nil || !state.room.settings.isMembersOnly
      ? Problem.notAdmin : Problem.roomUnknown
  }

  private static func differOnlyInLook(_ a: RoomSettings, _ b: RoomSettings) -> Bool {
    var a = a
    a.name = b.name
    a.about = b.about
    a.metadata = b.metadata
    a.avatarHash = b.avatarHash
    a.language = b.language
    return a == b
  }

  private mutating func set(_ avatar: Avatar?, in state: RoomCache.State) throws {
    try setValue(of: state.room.id, node: ValueKey.avatar, item: ValueKey.bytes, avatar?.bytes)
    try setValue(
      of: state.room.id, node: ValueKey.avatar, item: ValueKey.mediaType, avatar.map { Array($0.mediaType.utf8) })
  }

  func check(_ settings: RoomSettings, was: RoomSettings? = nil, in realm: RealmID) throws(Problem) {
    // Older texts must not keep anybody from changing other settings.
    for (field, value, before) in [("name", settings.name, was?.name), ("about", settings.about, was?.about)] {
      if let value, value != before { try PlainText.check(value, field: field) }
    }
    try check(days: settings.retentionDays, was: was?.retentionDays, in: realm, isRoom: true)
    for (field, value, bound) in [
      ("name", settings.name, Limits.displayNameBytesMax), ("about", settings.about, Limits.statusBytesMax),
      ("metadata", settings.metadata, Limits.metadataBytesMax),
      ("password", settings.password, Limits.passwordBytesMax),
      ("language", settings.language, 64),
    ] {
      if let value, value.utf8.count > bound {
        throw Problem(.tooLarge, "\(field)-too-long", "\(field) has at most \(bound) bytes.", field: field)
      }
    }
    guard (0...Limits.slowModeSecondsMax).contains(settings.slowModeSeconds) else {
      throw Problem(
        .malformed, "slow-mode-invalid", "slowModeSeconds is 0 to \(Limits.slowModeSecondsMax).",
        field: "slowModeSeconds")
    }
    if let count = settings.occupantsMax, !(1...Limits.occupantsMax).contains(count) {
      throw Problem(
        .malformed, "occupants-invalid", "A room has 1 to \(Limits.occupantsMax) occupants.", field: "occupantsMax")
    }
  }

  /// Sends the occupants the status codes of changed settings, and expels some of those who may no longer be present (10.2.1).
  private mutating func settingsChanged(
    from was: RoomSettings, in state: RoomCache.State, by author: UserID
  ) throws {
    let now = state.room.settings
    var codes: [UInt16] = [104]
    if now.showsAddresses != was.showsAddresses { codes.append(now.showsAddresses ? 172 : 173) }
    try expelOutsiders(from: state, by: author)
    tell(
      .notice(
        RoomNotice(room: state.room.name, kind: .settings(codes: codes)), showsAddresses: false,
        moderatorsOnly: false))
  }

  // MARK: Setting up

  /// Creates the room: the submitted form is the post that does so (10.1.2, 10.1.3). The form changes the settings of an
  /// instant room, which it was shown with. Of its people, one post adds some; `rest` are the others.
  mutating func found(
    _ post: Post, _ address: BareJID, _ lease: RoomCache.Lease, _ draft: SettingsDraft
  ) throws -> (RoomCache.State, Entry, rest: [MemberDraft]) {
    let settings = try changed(.instant, by: draft)
    try check(settings, in: post.author.realm)
    guard let local = address.local else { throw Problem.roomUnknown }
    if !settings.isPersistent, let wait = rooms.wait(toMakeTemporary: post.author.id, now: time) {
      throw Problem.roomsTooFast(wait)
    }
    let members = try firstMembers(Self.inOrderOfPieces(draft.members, by: post.author), by: post)
    if members.contains(where: { $0.party == post.author && $0.draft.affiliation != .owner }),
      !members.contains(where: { $0.draft.affiliation == .owner })
    {
      throw Problem.lastOwner
    }
    if settings.isPersistent { try pace(post) }
    rooms.lease(address, nil)
    let state: RoomCache.State
    do {
      state = try make(
        post, localpart: local, externalID: nil, settings: settings, nick: lease.nick)
    } catch {
      rooms.lease(address, lease)
      throw error
    }
    state.room.memberCount = 1
    if let avatar = draft.avatar { try set(avatar, in: state) }
    let created = try note(.created, by: post.author, in: state)
    try own(state, by: post.author, nick: lease.nick, created)
    let key = try Self.nick(lease.nick).key
    let occupant = rooms.occupy(state.room.id) {
      $0.enter(
        Occupants.OccupantSession(session: lease.session, presence: lease.presence), party: lease.party,
        nick: lease.nick,
        key: key, affiliation: .owner, role: .moderator)
    }
    rooms.setPresent(lease.session.id, of: lease.party.id, in: state.room.id, true)
    tell(.sessionEntered(lease.session, isModerator: true, state.room.id))
    // This presence tells the session that the room now exists.
    tell(.shown(occupantPresence(of: occupant, in: state.room), to: [lease.session], own: true))
    tell(.entry(created, author: session(of: post)))
    for wish in members.prefix(Limits.memberChangesAtOnce) {
      let was = try member(wish.party.id, in: state)
      try apply(wish.draft, to: wish.party, was: was, by: post, in: state)
    }
    // 10.2.1: the other sessions of the owner know nothing of the form, and clients ask anew for what the room is.
    if settings != .instant { try settingsChanged(from: .instant, in: state, by: post.author.id) }
    return (state, created, members.dropFirst(Limits.memberChangesAtOnce).map(\.draft))
  }

  mutating func prepare(_ post: Post, _ reference: RoomReference) throws {
    guard case .address(let address) = reference, var lease = rooms.leases[address], lease.party.id == post.author.id
    else {
      _ = try find(reference, for: post.author)
      return settle(post)
    }
    lease.isLocked = true
    rooms.lease(address, lease)
    settle(post)
  }
}
