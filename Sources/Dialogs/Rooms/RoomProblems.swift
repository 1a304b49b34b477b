import Addresses

/// The refusals of rooms. The doors map their codes to their protocol's errors (XEP-0045 has a stanza error for each).
extension Problem {
  public static let roomUnknown = Problem(.missing, "room-unknown", "There is no such room or dialog.")
  public static let roomDestroyed = Problem(.missing, "room-destroyed", "This room was destroyed.")
  public static let roomLocked = Problem(
    .missing, "room-locked", "This room is being set up by its creator. Try again later.")
  /// The refusal of who enters a temporary room between the post that ends it and the one that frees its address: a client that is refused
  /// for good forgets the room.
  public static let roomEnding = Problem(
    .overloaded, "room-ending", "The room that was here is ending. Try again in a second.", retryAfter: 1)
  public static let roomTaken = Problem(.conflict, "room-taken", "This address is or was another room's.")
  public static let roomKept = Problem(
    .conflict, "room-kept", "This room has users of the app, for whom it is kept: it cannot be temporary.")
  public static let roomBanned = Problem(.forbidden, "room-banned", "You are banned from this room.")
  public static let roomMembersOnly = Problem(
    .forbidden, "room-members-only", "Only members may enter this room. Ask one of them to invite you.")
  public static let roomPassword = Problem(
    .unauthenticated, "room-password", "This room has a password, and this is not it.", field: "password")
  public static let roomFull = Problem(.overloaded, "room-full", "This room is full.", retryAfter: 60)
  public static let nickTaken = Problem(
    .conflict, "nick-taken", "Somebody else has this nickname in this room, or one that it is a copy of.",
    field: "nick")
  public static let nickMissing = Problem(
    .malformed, "nick-missing", "Entering a room takes a nickname: room@service/nickname.", field: "nick")
  public static let nickInvalid = Problem(
    .malformed, "nick-invalid", "This cannot be a nickname (RFC 8266).", field: "nick")
  public static let notOccupant = Problem(
    .forbidden, "not-occupant", "Enter the room first.")
  static let notIntroduced = Problem(
    .internal, "not-introduced", "The session of a user elsewhere is not theirs yet (RoomIntent.introduce).")
  public static let noVoice = Problem(.forbidden, "no-voice", "You may read here, not write.")
  public static let roomKicked = Problem(
    .forbidden, "room-kicked", "You were put out of this room. Join again to write.")
  public static let notModerator = Problem(.forbidden, "not-moderator", "Only moderators of this room may do this.")
  public static let notAdmin = Problem(.forbidden, "not-admin", "Only admins and owners of this room may do this.")
  public static let notOwner = Problem(.forbidden, "not-owner", "Only owners of this room may do this.")
  public static let outranked = Problem(
    .forbidden, "outranked", "You may not do this to somebody of this affiliation.")
  public static let lastOwner = Problem(
    .conflict, "last-owner", "A room has at least one owner. Make somebody else owner first.")
  public static let selfBan = Problem(.conflict, "self-ban", "Nobody bans themselves. Leave instead.")
  public static let occupantUnknown = Problem(
    .missing, "occupant-unknown", "Nobody of this nickname is in this room.", field: "nick")
  /// The answer to a request that is not passed on, the same as that of a client that does not know the request.
  static let occupantUnreachable = Problem(.unreachable, "occupant-unreachable", "They cannot be reached.")
  public static let noWhispers = Problem(.forbidden, "no-whispers", "This room allows no private messages.")
  public static let roomCannotRegister = Problem(
    .forbidden, "room-members-only", "Members of this room are made by its admins.")
  public static let presencesTooLong = Problem(
    .tooLarge, "presences-too-long",
    "Your presences in rooms have at most \(Limits.roomPresencesBytesMax) bytes together. Show a shorter one here.")
  public static let noRoomsLeft = Problem(
    .overloaded, "too-many-rooms", "No further room can be entered or made. Leave one first.")

  static let roomsOfUserFull = Problem(
    .tooLarge, "too-many-rooms", "This user is a member of \(Limits.roomsPerUserMax) rooms, and of no more.",
    field: "userId")
  static let roomsOfUserByOneFull = Problem(
    .tooLarge, "too-many-rooms",
    "This user is in \(Limits.roomsOfUserByOneMax) rooms to which you have added or invited them. Ask them to enter by "
      + "themselves.",
    field: "userId")
  static let memberListFull = Problem(
    .tooLarge, "member-list-full", "A room has at most \(Limits.membersMax) members, and bans as many.")
  static let passwordTooLong = Problem(
    .tooLarge, "password-too-long", "password has at most \(Limits.passwordBytesMax) bytes.", field: "password")
  static let personNamedTwice = Problem(.malformed, "person-named-twice", "Somebody is named twice.")

  /// Returns the problem also for users whose existence is hidden: disabled ones, and those who block the asker.
  static func userUnknown(_ address: BareJID, field: String = "userId") -> Problem {
    Problem(.missing, "user-unknown", "There is no user \(address).", field: field)
  }

  static func slow(_ seconds: Int) -> Problem {
    Problem(.tooFast, "slow-mode", "This room lets you write again in \(seconds) seconds.", retryAfter: seconds)
  }
  static func entrances(wait seconds: Int) -> Problem {
    Problem(
      .tooFast, "entrances-too-fast",
      "You have entered this room, or changed your nick in it, many times. Try again in \(seconds) seconds.",
      retryAfter: seconds)
  }

  static func visitor(wait seconds: Int) -> Problem {
    Problem(
      .tooFast, "visitor-too-fast",
      "Without voice one changes the nick, and asks for voice, once a minute. Try again in \(seconds) seconds.",
      retryAfter: seconds)
  }

  static func roomsTooFast(_ seconds: Int) -> Problem {
    Problem(
      .tooFast, "rooms-too-fast", "You have made many rooms. Make the next one in \(seconds) seconds.",
      retryAfter: seconds)
  }

  init(_ refusal: ChangeRefusal) {
    switch refusal {
    case .powerless: self = .notAdmin
    case .outranked: self = .outranked
    case .lastOwner: self = .lastOwner
    case .oneself: self = .selfBan
    }
  }
}
