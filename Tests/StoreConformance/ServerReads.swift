public import Dialogs

/// Reads of everything there is, as the server itself: the contract of a store is what it returns, not to whom.
extension StoreReader {
  public func entry(_ position: Position, in dialog: DialogID) throws -> Entry? {
    try entry(position, in: .server(dialog, .rules))
  }

  public func history(
    of dialog: DialogID, after: Position, before: Position, limit: Int, ascending: Bool
  ) throws -> [Entry] {
    try history(of: .server(dialog, .rules), after: after, before: before, limit: limit, ascending: ascending)
  }

  public func counting(
    in dialog: DialogID, upTo position: Position, by author: UserID
  ) throws -> (all: Int64, own: Int64) {
    try counting(in: dialog, upTo: position, by: author, looksMax: Limits.ownLooksMax)
  }

  public func pins(of dialog: DialogID) throws -> [Position] { try pins(of: .server(dialog, .rules)) }

  public func archive(of room: DialogID, _ query: ArchiveQuery) throws -> ArchivePage {
    try archive(of: .server(room, .rules), query)
  }

  public func archive(of user: UserID, _ query: ArchiveQuery) throws -> ArchivePage {
    try archive(of: .server(user, .rules), query)
  }

  public func feed(
    of user: UserID, rooms: [(room: DialogID, since: Position)] = [], after: Position, limit: Int, all: Bool = false
  ) throws -> [Entry] {
    try feed(of: .server(user, rooms: rooms, .rules), after: after, limit: limit, all: all)
  }

  public func replay(of user: UserID, after: Position, limit: Int) throws -> [Entry] {
    try replay(of: .server(user, .rules), after: after, limit: limit)
  }

  public func dialogs(of user: UserID, before: Position, limit: Int) throws -> [DialogView] {
    try dialogs(of: .server(user, .rules), before: before, limit: limit)
  }

  public func rooms(of user: UserID, before: Position, limit: Int) throws -> [RoomView] {
    try rooms(of: .server(user, .rules), before: before, limit: limit)
  }

  public func member(_ user: UserID, of room: DialogID) throws -> Member? {
    try member(user, of: .server(room, .rules))
  }

  public func member(nickKey key: String, of room: DialogID) throws -> Member? {
    try member(nickKey: key, of: .server(room, .rules))
  }

  public func members(of room: DialogID, among: Set<Affiliation>, after: UserID?, limit: Int) throws -> [Member] {
    try members(of: .server(room, .rules).only(among), after: after, limit: limit)
  }

  public func memberChanges(of room: DialogID, after: Position, limit: Int) throws -> [Member] {
    try memberChanges(of: room, for: .rules, after: after, limit: limit)
  }

  public func blob(_ id: BlobID) throws -> Blob? { try blob(id, .server(.rules)) }

  public func conversations(of user: UserID, _ query: ConversationQuery) throws -> ConversationPage {
    try conversations(of: .server(user, .rules), query)
  }

  /// A user's own access to a dialog or room that they are in.
  public func messages(in dialog: DialogID, for user: UserID) throws -> MessageAccess {
    if let messages = try self.dialog(dialog)?.messages(for: user) { return messages }
    guard let room = try room(dialog), let member = try member(user, of: dialog) else { throw NotInIt() }
    return room.messages(for: member)
  }
}

private struct NotInIt: Error {}
