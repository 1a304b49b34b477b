public import Addresses
public import Basics

/// Reads rooms and their members.
public protocol RoomReader {
  func room(_ id: DialogID) throws -> Room?
  /// Returns the room of an address, also a destroyed one whose address is not free.
  func room(at address: BareJID) throws -> Room?
  /// Returns a room, even a destroyed one: its id is never given again in its space.
  func room(externalID: ExternalID, in realm: RealmID) throws -> Room?
  func roomName(_ id: DialogID) throws -> RoomName?
  /// Returns the temporary rooms behind `after`, by number: those that exist, and those that have ended and are not
  /// removed yet (`RoomWriter.removeContent`); with them the persistent rooms that have ended, until their values are removed.
  func temporaryRooms(after: DialogID, limit: Int) throws -> [Room]
  func member(_ user: UserID, of room: MemberAccess) throws -> Member?
  /// Returns the member who has reserved this nick; `key` is from `Precis.nicknameKey`.
  func member(nickKey key: String, of room: MemberAccess) throws -> Member?
  /// Returns people of a room by user number, behind `after`.
  func members(of room: MemberAccess, after: UserID?, limit: Int) throws -> [Member]
  /// Returns everyone whose row has a greater `version`, removed ones as `none`, by version; several may share one.
  func memberChanges(of room: DialogID, for reason: ServerReason, after: Position, limit: Int) throws -> [Member]
  /// Returns the rooms in which the user is a member, with the position behind which they follow each, and their affiliation, by
  /// room number. A destroyed room is among them until the membership ends (`RoomWriter.endMembers`): the user's sessions find its
  /// last entry there until it is in their feed.
  func memberships(of user: UserID) throws -> [(room: RoomName, since: Position, affiliation: Affiliation)]
  /// Returns those of these rooms whose list names another user, by room number, whatever the other one's affiliation.
  func memberships(of user: UserID, listing other: UserID) throws -> [DialogID]
  /// Returns the number of these rooms.
  func membershipCount(of user: UserID) throws -> Int
  /// Returns the number of those to which this user, or anybody if it is `nil`, has added or invited the user.
  func membershipCount(of user: UserID, invitedBy inviter: UserID?) throws -> Int
  /// Returns a member's view of their rooms with `shown` < `before`, newest first.
  func rooms(of log: LogAccess, before: Position, limit: Int) throws -> [RoomView]
  /// Returns rooms of a realm that are not destroyed, by localpart, behind `after` and up to `through`; `listed` returns only
  /// public ones; `matching` is a case-insensitive part of the name, or a prefix of the localpart.
  func rooms(
    in realm: RealmID, listed: Bool, matching: String?, after: String?, through: String?, limit: Int
  ) throws -> [Room]
  /// Returns the localpart of the `count`-th listed room behind a localpart; `nil` if there are fewer.
  func listedRoomsEnd(in realm: RealmID, after: String?, count: Int) throws -> String?
}

extension RoomReader {
  /// Returns the same, up to the last room.
  public func rooms(
    in realm: RealmID, listed: Bool, matching: String?, after: String?, limit: Int
  ) throws -> [Room] {
    try rooms(in: realm, listed: listed, matching: matching, after: after, through: nil, limit: limit)
  }
}

/// Changes rooms and their members.
public protocol RoomWriter {
  /// Creates a room. Throws `StoreConflict` if the address is taken and not free, or the `externalID` is or was taken
  /// in its space.
  func insertRoom(
    localpart: String, in realm: RealmID, externalID: ExternalID?, settings: RoomSettings, createdAt: Timestamp
  ) throws -> Room
  /// Updates sequence, ordinal and last, which each message changes.
  func updateCounters(of room: Room) throws
  /// Updates everything else that is mutable. A room that `isEnding` is in no list of dialogs and in no count; `isAbandoned` is
  /// stored with it.
  func update(_ room: Room) throws
  /// Ends the membership of people in a destroyed room: removes their marks, and with them everything that is found by them:
  /// memberships, lists, unread counts. Of a temporary room it removes their markers that nobody else may see, too. The entry at
  /// `end`, which tells of the room's end, gets these rows of feeds; a row that exists stays.
  func endMembers(_ users: [UserID], of room: DialogID, feeds: [FeedRow], at end: Position) throws
  /// Inserts or replaces a member. A new member gets a mark, with everything up to `ordinal` (the room's) read. With
  /// affiliation `none` the row remains as a tombstone for `memberChanges`, without nick; the mark is removed. Throws
  /// `StoreConflict` if another member has the nick.
  func put(_ member: Member, ordinal: Int64) throws
  /// Removes up to `limit` values of a room that has ended, such as bans of addresses, and up to which position former members had
  /// cleared it. Of a temporary one it then removes up to `limit` entries, the oldest first, and with the last of them its people and
  /// everything else. Only the last entry stays, which tells former members of the end, and private messages, which are in the
  /// archives of two users. Files that nothing else names end at `time`.
  ///
  /// - Returns: whether there is more to remove.
  func removeContent(of room: DialogID, limit: Int, endingFiles time: Timestamp) throws -> Bool
}
