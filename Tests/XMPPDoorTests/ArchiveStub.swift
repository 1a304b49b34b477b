import Addresses
import Basics
import Dialogs

/// A store that knows one user's archive, the directory of rooms, the items of one node and nothing else:
/// what a query asks of it is what is tested.
struct ArchiveStub: StoreReader {
  var entries: [Entry]
  var users: [BareJID: User] = [:]
  /// Listed, by localpart.
  var rooms: [Room] = []
  /// The items in the order of publication.
  var nodeItems: [NodeItem] = []

  struct NotAsked: Error {}

  func archive(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage {
    let matching = entries.filter { entry in
      if let positions = query.positions { return positions.contains(entry.position) }
      if let dialog = query.with, entry.dialog != dialog { return false }
      if let start = query.start, entry.time < start { return false }
      if let end = query.end, entry.time > end { return false }
      return entry.position > query.after && entry.position < query.before
    }
    let page = query.backwards ? matching.suffix(query.limit) : matching.prefix(query.limit)
    return ArchivePage(entries: Array(page), complete: page.count == matching.count)
  }

  func user(_ address: BareJID) throws -> User? { users[address] }
  func dialog(between a: UserID, and b: UserID) throws -> Dialog? {
    guard let entry = entries.first(where: { [$0.author.id, $0.peer?.id].contains(b) }) else { return nil }
    return Dialog(
      id: entry.dialog, kind: .privately, first: entry.author, second: entry.peer ?? entry.author, createdAt: entry.time
    )
  }

  func room(at address: BareJID) throws -> Room? { nil }

  func records<Kind: Record>(_ query: RecordQuery<Kind>) throws -> [Kind] { throw NotAsked() }
  func count<Kind: Record>(_ query: RecordQuery<Kind>) throws -> Int { throw NotAsked() }
  func guests() throws -> [UserID] { throw NotAsked() }
  func realms() throws -> [Realm] { throw NotAsked() }
  func dialogSummaries(of user: UserID) throws -> [DialogSummary] { throw NotAsked() }
  func log(for reason: ServerReason, after: Position, limit: Int) throws -> [Entry] { throw NotAsked() }
  func entry(at position: Position, for reason: ServerReason) throws -> Entry? { throw NotAsked() }
  func lastOutboxEvent() throws -> Int64 { throw NotAsked() }
  func messages(
    with text: String, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate] { throw NotAsked() }
  func messages(
    of kind: Content.Kind, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate] { throw NotAsked() }
  func scheduled(_ id: Int64, of user: UserID) throws -> ScheduledMessage? { throw NotAsked() }
  func scheduled(of user: UserID) throws -> [ScheduledMessage] { throw NotAsked() }
  func scheduledCount(of user: UserID) throws -> Int { throw NotAsked() }
  func dueScheduled(at time: Timestamp, limit: Int) throws -> [ScheduledMessage] { throw NotAsked() }
  func nextDue() throws -> Timestamp? { throw NotAsked() }
  func lastLogin(of user: UserID) throws -> Timestamp? { throw NotAsked() }
  func user(_ id: UserID) throws -> User? { throw NotAsked() }
  func party(_ id: UserID) throws -> Party? { throw NotAsked() }
  func users(in realm: RealmID, matching: String?, after: String?, limit: Int) throws -> [User] { throw NotAsked() }
  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?) { throw NotAsked() }
  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob] { throw NotAsked() }
  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User] {
    let (matching, after, limit) = (query.text, query.after, query.limit)
    let found = users.values.filter { $0.name > after ?? "" && $0.name.hasPrefix(matching ?? "") }
    return Array(found.sorted { $0.name < $1.name }.prefix(limit))
  }
  func userCount(in realm: RealmID) throws -> Int { throw NotAsked() }
  func node(_ name: String, of owner: UserID) throws -> Node? { throw NotAsked() }
  func nodes(of owner: UserID) throws -> [Node] { throw NotAsked() }
  func published(by owner: UserID) throws -> (nodes: Int, bytes: Int) { throw NotAsked() }
  func item(_ id: String, in node: String, of owner: UserID) throws -> NodeItem? { nodeItems.first { $0.id == id } }
  func items(
    in node: String, of owner: UserID, after: Position, before: Position, newest: Bool, limit: Int
  ) throws -> [NodeItem] {
    let found = nodeItems.filter { $0.position > after && $0.position < before }
    return Array(newest ? found.suffix(limit) : found.prefix(limit))
  }
  func people(of node: String, of owner: UserID) throws -> NodePeople { throw NotAsked() }
  func affiliations(of address: BareJID, with owner: UserID) throws -> [String: NodeAffiliation] { throw NotAsked() }
  func subscriptions(of address: BareJID, with owner: UserID) throws -> [(node: String, NodeSubscription)] {
    throw NotAsked()
  }
  func subscriptionCount(of address: BareJID) throws -> Int { throw NotAsked() }
  func pendingSubscriptions(of owner: UserID, limit: Int) throws -> [(node: String, JID)] { throw NotAsked() }
  func contact(of owner: UserID, _ address: BareJID) throws -> Contact? { throw NotAsked() }
  func contacts(of owner: UserID) throws -> [Contact] { throw NotAsked() }
  func contactChanges(of owner: UserID, after version: Position) throws -> [ContactChange] { throw NotAsked() }
  func rosterVersion(of owner: UserID) throws -> Position { throw NotAsked() }
  func blocks(of owner: UserID) throws -> [BlockPattern] { throw NotAsked() }
  func head() throws -> (position: Position, time: Timestamp) { throw NotAsked() }
  func position(before time: Timestamp) throws -> Position { throw NotAsked() }
  func dialog(_ id: DialogID) throws -> Dialog? { throw NotAsked() }
  func dialogs(of log: LogAccess, before: Position, limit: Int) throws -> [DialogView] { throw NotAsked() }
  func mark(_ user: UserID, in dialog: DialogID) throws -> Mark? { throw NotAsked() }
  func settings(of user: UserID, in dialog: DialogID) throws -> DialogSettings? { throw NotAsked() }
  func settings(of user: UserID) throws -> [DialogID: DialogSettings] { throw NotAsked() }
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark] { throw NotAsked() }
  func conversations(of log: LogAccess, _ query: ConversationQuery) throws -> ConversationPage { throw NotAsked() }
  func unread(of user: UserID) throws -> Int64 { throw NotAsked() }
  func mentions(of user: UserID, in dialog: DialogID?) throws -> Int64 { throw NotAsked() }
  func history(
    of messages: MessageAccess, after: Position, before: Position, limit: Int, ascending: Bool
  ) throws -> [Entry] {
    throw NotAsked()
  }
  func entry(_ position: Position, in messages: MessageAccess) throws -> Entry? { throw NotAsked() }
  /// No entry has been removed: an entry that is not in this archive is in another one.
  func hasEntry(at position: Position, in dialog: DialogID?) throws -> Bool { true }
  func replay(of log: LogAccess, after: Position, limit: Int) throws -> [Entry] { throw NotAsked() }
  func counting(in dialog: DialogID, upTo position: Position, by author: UserID) throws -> (all: Int64, own: Int64) {
    throw NotAsked()
  }
  func room(_ id: DialogID) throws -> Room? { throw NotAsked() }
  func room(externalID: String, in realm: RealmID) throws -> Room? { throw NotAsked() }
  func roomName(_ id: DialogID) throws -> RoomName? { throw NotAsked() }
  func member(_ user: UserID, of room: MemberAccess) throws -> Member? { throw NotAsked() }
  func member(nickKey key: String, of room: MemberAccess) throws -> Member? { throw NotAsked() }
  func members(of room: MemberAccess, after: UserID?, limit: Int) throws -> [Member] {
    throw NotAsked()
  }
  func memberChanges(of room: DialogID, for reason: ServerReason, after: Position, limit: Int) throws -> [Member] {
    throw NotAsked()
  }
  func memberships(of user: UserID) throws -> [(room: RoomName, since: Position)] { throw NotAsked() }
  func rooms(of log: LogAccess, before: Position, limit: Int) throws -> [RoomView] { throw NotAsked() }
  func rooms(in realm: RealmID, listed: Bool, matching: String?, after: String?, limit: Int) throws -> [Room] {
    guard listed, matching == nil else { throw NotAsked() }
    return Array(rooms.filter { ($0.address.local ?? "") > after ?? "" }.prefix(limit))
  }
  func archive(of messages: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage { throw NotAsked() }
  func feed(of log: LogAccess, after: Position, limit: Int, all: Bool) throws -> [Entry] { throw NotAsked() }
  func whispers(between a: UserID, and b: UserID, in room: DialogID) throws -> Dialog? { throw NotAsked() }
  func blob(_ id: BlobID, _ access: FileAccess) throws -> Blob? { throw NotAsked() }
  func blobUse(of owner: UserID, at time: Timestamp) throws -> BlobUse { throw NotAsked() }
  func dueBlobs(at time: Timestamp, limit: Int) throws -> [BlobID] { throw NotAsked() }
  func pushRegistrations() throws -> [PushRegistration] { throw NotAsked() }
  func pushRegistrations(of user: UserID) throws -> [PushRegistration] { throw NotAsked() }
  func usersOwedPushes() throws -> [UserID] { throw NotAsked() }
  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush] { throw NotAsked() }
  func handled(_ stream: StreamNonce) throws -> UInt32? { throw NotAsked() }
  func suspended() throws -> [SuspendedSession] { throw NotAsked() }
}

/// Messages for oneself alone, pins and edits.
extension ArchiveStub {
  func edits(of message: EditAccess, after: Position, limit: Int) throws -> [Entry] { throw NotAsked() }
  func pins(of messages: MessageAccess) throws -> [Position] { throw NotAsked() }
  func isHidden(_ message: Position, in dialog: DialogID, for user: UserID) throws -> Bool { throw NotAsked() }
  func hasHidden(_ user: UserID) throws -> Bool { throw NotAsked() }
  func hidden(from message: Position, in dialog: DialogID) throws -> [UserID] { throw NotAsked() }
  func hiddenCount(of user: UserID) throws -> Int { throw NotAsked() }
  func hiddenCount(of user: UserID, in dialog: DialogID, after: Position) throws -> Int64 { throw NotAsked() }
  func hasFlagged(_ message: PublicID, by user: UserID, in realm: RealmID) throws -> Bool { throw NotAsked() }
}
