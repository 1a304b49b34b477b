/// A page of the log of a user's app sessions, with the subjects of its entries as far as the user may know them. Read
/// in one transaction.
public struct FeedPage: Sendable {
  /// The subjects of entries, in their current state. An entry that came live carries its own.
  public struct Subjects: Sendable {
    public var rooms: [DialogID: Room] = [:]
    /// The messages that entries change, as far as the user may read them.
    public var targets: [Position: Entry] = [:]
    /// The contacts that contact groups have changed one at a time; none for those who are no contacts any more.
    public var contacts: [UserID: Contact] = [:]
    /// The rooms whose people the user may not know.
    public fileprivate(set) var anonymized: Set<DialogID> = []
    /// The entries to leave out: messages that the user has deleted for themselves, and changes of them.
    public fileprivate(set) var hidden: Set<Position> = []

    public init() {}

    public func isAnonymized(_ entry: Entry) -> Bool {
      entry.anonymizedRoom.map { anonymized.contains($0.dialog) } ?? false
    }
  }

  public let log: LogPage
  public let subjects: Subjects

  /// Blocks: for `Parley.read`.
  ///
  /// - Parameters:
  ///   - known: the places that the page before it has found; `nil` if there is none.
  ///   - ahead: the number of places that are looked for, if it is greater than `limit`.
  public static func read(
    _ user: Party, after: Position, limit: Int, at known: FeedPlaces? = nil, ahead: Int = 0,
    _ reader: any StoreReader
  ) throws -> FeedPage {
    var log = try reader.page(of: .withMemberships(of: user), after: after, limit: limit, at: known, ahead: ahead)
    var found = try SubjectReader(user, reader)
    for (index, entry) in log.entries.enumerated() {
      if found.bytes >= Limits.pageBytesMax {
        // The rest is the next page.
        let read = Array(log.entries[..<index])
        log = LogPage(
          entries: read, end: read.last?.position ?? after, isLast: false, places: log.places,
          isSearched: log.isSearched)
        break
      }
      try found.read(entry)
    }
    return FeedPage(log: log, subjects: found.subjects)
  }
}

/// Reads the subjects of a page's entries, each of them once.
private struct SubjectReader {
  private let user: Party
  private let reader: any StoreReader
  /// Whether the user has deleted messages for themselves.
  private let hides: Bool
  private(set) var subjects = FeedPage.Subjects()
  /// The bytes of the messages that entries change, which may be as large as those that are read themselves.
  private(set) var bytes = 0
  private var members: [DialogID: Member?] = [:]
  private var seen: Set<DialogID> = []

  init(_ user: Party, _ reader: any StoreReader) throws {
    self.user = user
    self.reader = reader
    hides = try reader.hasHidden(user.id)
  }

  mutating func read(_ entry: Entry) throws {
    if let name = entry.anonymizedRoom, seen.insert(name.dialog).inserted {
      let affiliation: Affiliation = try member(name.dialog)?.affiliation ?? .none
      if try room(name.dialog)?.showsPeople(to: affiliation) != true { subjects.anonymized.insert(name.dialog) }
    }
    switch entry.fact {
    case .room(let change): if change.room == nil { _ = try room(entry.dialog) }
    case .invitation(let invitation): if invitation.name == nil { _ = try room(invitation.room.dialog) }
    case .message(let message): try read(message, of: entry)
    case .contactGroup(let change):
      guard let party = change.onlyContact(of: user.id) else { return }
      subjects.contacts[party.id] = try reader.contact(of: user.id, party.address)
    case .undelivered(let undelivered): try follow(undelivered.target, in: undelivered.dialog, of: entry)
    case .perUser(let change):
      if change.change == .delivery { try follow(change.target, in: change.dialog, of: entry) }
    case .marker, .contact, .blocks, .profile, .dialogOpened, .node, .settings, .draft, .scheduledMessage, .call,
      .notification:
      return
    }
  }

  /// Reads the message that another one changes.
  private mutating func read(_ message: Message, of entry: Entry) throws {
    let about = message.reference.flatMap { $0.changes ? $0.target : nil } ?? entry.position
    if hides, try reader.isHidden(about, in: entry.dialog, for: user.id) {
      subjects.hidden.insert(entry.position)
      return
    }
    guard let reference = message.reference, reference.changes, subjects.targets[reference.target] == nil else {
      return
    }
    // Whether the user has deleted it for themselves is known already.
    var horizon = Position.zero
    if entry.room != nil {
      let own = try member(entry.dialog).flatMap { $0.affiliation.isMember ? $0 : nil }
      horizon = try room(entry.dialog)?.horizon(since: own?.since) ?? .end
    }
    try readTarget(reference.target, MessageAccess(entry.dialog, for: nil, behind: horizon))
  }

  /// Reads the user's own message in a private dialog.
  private mutating func follow(_ target: Position, in dialog: DialogID, of entry: Entry) throws {
    if hides, try reader.isHidden(target, in: dialog, for: user.id) {
      subjects.hidden.insert(entry.position)
    } else if subjects.targets[target] == nil {
      try readTarget(target, MessageAccess(dialog, for: nil, behind: .zero))
    }
  }

  private mutating func readTarget(_ target: Position, _ access: MessageAccess) throws {
    let found = try reader.entry(target, in: access)
    subjects.targets[target] = found
    bytes += found?.byteCount ?? 0
  }

  private mutating func member(_ room: DialogID) throws -> Member? {
    if let known = members[room] { return known }
    let found = try reader.member(user.id, of: .server(room, .rules))
    members.updateValue(found, forKey: room)
    return found
  }

  private mutating func room(_ id: DialogID) throws -> Room? {
    if let known = subjects.rooms[id] { return known }
    subjects.rooms[id] = try reader.room(id)
    return subjects.rooms[id]
  }
}

extension Entry {
  /// The room whose people the entry names; `nil` if all its readers may know them.
  public var anonymizedRoom: RoomName? {
    if case .invitation(let invitation) = fact { return invitation.room }
    return room
  }
}
