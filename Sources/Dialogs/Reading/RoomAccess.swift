/// The decision what a user may read of a group or public dialog at one moment.
public enum RoomAccess: Sendable {
  /// The user reads nothing: for them the dialog does not exist.
  case none
  /// The user may know that the room exists and what it is called, but not its messages or members.
  case known(Room)
  case reads(ReadableRoom)

  /// Decides. Members read. So do occupants who are no members, and whoever names an open room by its address, since
  /// they may enter it; where history begins with joining there is none for them. Others may know of a listed room.
  ///
  /// - Parameters:
  ///   - viewer: a user of the room's home.
  ///   - member: the user's row in the room's list; `nil` if there is none.
  ///   - role: the user's role as an occupant; `none` if they are not in the room.
  ///   - holdsAddress: whether they named the room by its address, as XMPP clients do.
  init(
    of room: Room, for viewer: Party, as member: Member?, role: Role = .none, holdsAddress: Bool = false
  ) {
    if room.isDestroyed {
      self = .none
      return
    }
    let affiliation = member?.affiliation ?? .none
    let mayEnter = affiliation > .outcast && (role > .none || holdsAddress && room.isOpen)
    if affiliation.isMember || mayEnter {
      self = .reads(ReadableRoom(room, for: viewer, as: affiliation.isMember ? member : nil, role: role))
    } else {
      self = room.isKnownToAll(byAddress: holdsAddress && affiliation > .outcast) ? .known(room) : .none
    }
  }

  /// The room; `nil` if the user may not know that it exists.
  public var room: Room? {
    switch self {
    case .none: nil
    case .known(let room): room
    case .reads(let readable): readable.room
    }
  }

  /// The room, if the user may read it.
  public var readable: ReadableRoom? { if case .reads(let readable) = self { readable } else { nil } }
}

/// A room that a user may read.
public struct ReadableRoom: Sendable {
  public let room: Room
  /// The user's row; `nil` for a user who is no member.
  public let member: Member?
  public let messages: MessageAccess
  /// Whether the user may know who the members are (XEP-0045 4.2: in a semi-anonymous room moderators may).
  public let showsPeople: Bool
  let role: Role
  /// Whether its members see how far the others have read: in larger rooms nobody is told.
  public var showsMarkers: Bool { room.memberCount <= Limits.markersToldMax }

  fileprivate init(_ room: Room, for viewer: Party, as member: Member?, role: Role) {
    self.room = room
    self.member = member
    self.role = role
    messages =
      member.map { room.messages(for: $0) } ?? MessageAccess(room.id, for: viewer.id, behind: room.horizon(since: nil))
    showsPeople = room.showsPeople(to: member?.affiliation) || role == .moderator
  }
}

extension Room {
  /// Returns the access of a member; someone who is no longer a member reads nothing.
  public func messages(for member: Member) -> MessageAccess {
    MessageAccess(
      id, for: member.party.id, behind: member.affiliation.isMember ? horizon(since: member.since) : .end)
  }

  /// Returns the position behind which a user may read who joined at `since`; `nil` if they are no member.
  func horizon(since: Position?) -> Position { settings.history == .sinceJoin ? since ?? .end : .zero }

  /// Whether everyone may enter who is not banned (XEP-0433 6.2).
  public var isOpen: Bool { !settings.isMembersOnly && settings.password == nil }

  /// Returns whether everyone may know that the room exists: it is listed, or it is open and they know its address.
  func isKnownToAll(byAddress: Bool) -> Bool { settings.isListed || byAddress && !settings.isMembersOnly }
}

extension StoreReader {
  /// Returns what a user may read of a room that they name by its id, without being in it. Blocks: for `Parley.read`.
  public func access(to room: DialogID, for viewer: Party) throws -> RoomAccess {
    guard let room = try self.room(room) else { return .none }
    return try access(to: room, for: viewer)
  }

  public func access(to room: Room, for viewer: Party) throws -> RoomAccess {
    guard try room.name.realm == home(of: viewer.realm) else { return .none }
    return RoomAccess(of: room, for: viewer, as: try member(viewer.id, of: .server(room.id, .rules)))
  }

  /// Returns the user's access to a dialog of either kind; `nil` if they may not read it. `room` is `nil` for a private
  /// one.
  public func messages(
    in dialog: DialogID, for user: Party
  ) throws -> (messages: MessageAccess, room: ReadableRoom?)? {
    if let dialog = try self.dialog(dialog) { return dialog.messages(for: user.id).map { ($0, nil) } }
    return try access(to: dialog, for: user).readable.map { ($0.messages, $0) }
  }

  /// Returns a message; `nil` if there is none or the user may not read it.
  public func message(
    _ position: Position, in messages: MessageAccess, of room: ReadableRoom?
  ) throws -> ReadableMessage? {
    guard let viewer = messages.viewer, let entry = try entry(position, in: messages) else { return nil }
    return ReadableMessage(entry, for: viewer, in: room)
  }

  /// Returns how far a user has received and read, for the others in the dialog; `nil` if nothing is known, or their last
  /// marker was set in private. What was read in private stays hidden behind later markers of delivery.
  public func mark(_ user: UserID, of messages: MessageAccess) throws -> Mark? {
    guard var mark = try mark(user, in: messages.dialog) else { return nil }
    if case .marker(let last)? = try entry(mark.position, in: messages)?.fact {
      if !last.told { return nil }
      if last.hidesRead { mark.displayed = .zero }
    }
    return mark
  }

  /// Returns the newest message of a dialog. It is `nil` also where the last ones that were shown were erased, or the reader has
  /// deleted them for themself, with `Limits.lastLooksMax` entries before the next.
  public func last(of messages: MessageAccess) throws -> Entry? {
    try last(of: messages, shown: try shown(in: messages.dialog))
  }

  /// Returns the same if `Dialog.shown` or `Room.shown` is known.
  public func last(of messages: MessageAccess, shown: Position) throws -> Entry? {
    if let entry = try self.entry(shown, in: messages), entry.fact.isShown { return entry }
    return try history(
      of: messages, after: .zero, before: shown, limit: 1, ascending: false, looksMax: Limits.lastLooksMax
    ).first
  }

  /// Returns the last message of a user's conversation, if they may read it, and whether they may know who sent it.
  public func last(of conversation: Conversation, for user: Party) throws -> (message: Entry?, showsPeople: Bool) {
    guard let said = conversation.said else { return (nil, false) }
    guard let (messages, room) = try messages(in: conversation.dialog, for: user) else { return (nil, false) }
    return (try entry(said, in: messages), room?.showsPeople ?? true)
  }
}
