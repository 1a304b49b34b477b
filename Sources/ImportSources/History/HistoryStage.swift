import Basics

/// The messages of all archives in the order of their time: the two copies of each message between users made one, and
/// each room before its first message.
///
/// The log's time never decreases, and archives come by user and by room: so everything is gathered in a temporary database
/// first, which also keeps memory flat.
///
/// A message is in its author's archive and in its addressee's, perhaps in only one of them, and perhaps in the
/// addressee's offline messages. Two copies are one message if author, addressee, stanza id and content are the same,
/// they are on different sides (or one is offline), and their times differ by at most
/// `ImportLimits.copyWindowMilliseconds`. So what somebody said twice stays two messages.
public final class HistoryStage {
  private let database: Database
  private let insert: Database.Statement
  private var select: Database.Statement?
  private var isAtEnd = false
  /// The time of the last row that was read.
  private var now = Int64.min
  /// The copies, messages and rooms that were added.
  public private(set) var count = 0
  private var read = 0
  /// The share of them that has been read.
  public var fraction: Double { count > 0 ? Double(read) / Double(count) : 1 }
  /// The rooms that have not come yet, by their addresses. A source may have one twice: the importer decides.
  private var rooms: [String: [(room: RoomRecord, place: Place)]] = [:]
  private var roomCount = 0

  /// The items that may still wait, the oldest at `start`: a message for another copy, anything else for those before it.
  /// The numbers of `numbers` are those of places in it plus `dropped`.
  private var waiting: [Waiting?] = []
  private var start = 0
  private var dropped = 0
  private var numbers: [Key: [Int]] = [:]

  private struct Key: Hashable {
    let author: String
    let addressee: String
    let id: String
    let digest: UInt64
  }
  private struct Waiting {
    let time: Int64
    let place: Place
    var content: Content
  }
  private enum Content {
    case pair(Pair)
    case whole(ImportRecord)
  }
  private struct Pair {
    let key: Key
    var message: MessageRecord
    var hasAuthors: Bool
    var hasAddressees: Bool
  }

  /// The bits of a row's flags.
  private enum Flag {
    static let isInbound: Int64 = 1
    static let isOffline: Int64 = 2
    /// A message of a room: `owner` is the room, `peer` the author's address if it is known, and `id` the nick.
    static let isOfRoom: Int64 = 4
  }

  public init() throws(SourceFailure) {
    // SQLite sorts in as much memory as the cache of the main database may have, and this has no pages: the table, which is
    // written and read once from end to end, is in the temporary one, whose cache is small.
    database = try Database()
    try database.run(
      """
      PRAGMA temp_store = FILE;
      CREATE TEMP TABLE copies (time INTEGER, owner TEXT, peer TEXT, flags INTEGER, id TEXT, digest INTEGER, xml TEXT, place TEXT);
      PRAGMA journal_mode = OFF;
      PRAGMA cache_size = -\(ImportLimits.sortingKibibytes);
      BEGIN;
      """)
    insert = try database.prepare("INSERT INTO copies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
  }

  public func add(_ copy: MessageCopy, _ place: Place) throws(SourceFailure) {
    let flags = (copy.isInbound ? Flag.isInbound : 0) | (copy.isOffline ? Flag.isOffline : 0)
    try add(
      copy.time, owner: copy.owner, peer: copy.peer, flags, id: copy.id, digest: copy.digest, copy.xml, place)
  }

  public func add(_ message: RoomMessageRecord, _ place: Place) throws(SourceFailure) {
    try add(
      message.time, owner: message.room, peer: message.author ?? "", Flag.isOfRoom, id: message.nick, digest: 0,
      message.xml, place)
  }

  /// Adds a room; returns `false` at the bound.
  public func add(_ room: RoomRecord, _ place: Place) -> Bool {
    guard roomCount < ImportLimits.roomsMax else { return false }
    rooms[room.jid.lowercased(), default: []].append((room, place))
    roomCount += 1
    count += 1
    return true
  }

  private func add(
    _ time: Int64, owner: String, peer: String, _ flags: Int64, id: String, digest: UInt64, _ xml: String,
    _ place: Place
  ) throws(SourceFailure) {
    insert.bind(1, time)
    insert.bind(2, owner)
    insert.bind(3, peer)
    insert.bind(4, flags)
    insert.bind(5, id)
    insert.bind(6, Int64(bitPattern: digest))
    insert.bind(7, xml)
    insert.bind(8, place.description)
    try insert.run()
    count += 1
  }

  /// Returns the next message or room in the order of time; `nil` at the end. Nothing is added any more. Rooms without
  /// messages come last.
  public func next() throws(SourceFailure) -> (ImportRecord, Place)? {
    if select == nil { select = try begin() }
    guard let select else { return nil }
    while true {
      if let ready = take() { return ready }
      if isAtEnd { return nil }
      guard try select.step() else {
        isAtEnd = true
        for (room, place) in rooms.sorted(by: { $0.key < $1.key }).flatMap(\.value) {
          wait(.whole(.room(room)), place)
        }
        rooms = [:]
        continue
      }
      read += 1
      now = select.int(0)
      let (flags, place) = (select.int(3), Place(file: select.text(7)))
      if flags & Flag.isOfRoom != 0 {
        let author = select.text(2)
        put(
          RoomMessageRecord(
            room: select.text(1), time: now, nick: select.text(4), author: author.isEmpty ? nil : author,
            xml: select.text(6)), place)
      } else {
        put(
          MessageCopy(
            owner: select.text(1), time: now, peer: select.text(2), isInbound: flags & Flag.isInbound != 0,
            isOffline: flags & Flag.isOffline != 0, id: select.text(4), digest: UInt64(bitPattern: select.int(5)),
            xml: select.text(6)), place)
      }
    }
  }

  private func begin() throws(SourceFailure) -> Database.Statement {
    try database.run("COMMIT")
    return try database.prepare(
      "SELECT time, owner, peer, flags, id, digest, xml, place FROM copies ORDER BY time, rowid")
  }

  private func wait(_ content: Content, _ place: Place) {
    waiting.append(Waiting(time: now, place: place, content: content))
  }

  private func put(_ message: RoomMessageRecord, _ place: Place) {
    for found in rooms.removeValue(forKey: message.room.lowercased()) ?? [] {
      var room = found.room
      room.time = message.time
      wait(.whole(.room(room)), found.place)
    }
    wait(.whole(.roomMessage(message)), place)
  }

  private func put(_ copy: MessageCopy, _ place: Place) {
    let (author, addressee) = copy.isInbound ? (copy.peer, copy.owner) : (copy.owner, copy.peer)
    let key = Key(
      author: author.lowercased(), addressee: addressee.lowercased(), id: copy.id, digest: copy.digest)
    let isOwn = key.author == key.addressee
    for number in numbers[key] ?? [] {
      guard case .pair(var found)? = waiting[number - dropped]?.content else { continue }
      let completes =
        copy.isInbound
        ? !found.hasAddressees || found.message.isOffline != copy.isOffline
        : !found.hasAuthors || isOwn && !key.id.isEmpty
      guard completes else { continue }
      found.message.isOffline = found.message.isOffline || copy.isOffline
      if copy.isInbound {
        found.hasAddressees = true
        found.message.isInAddresseesArchive = found.message.isInAddresseesArchive || !copy.isOffline
      } else {
        found.hasAuthors = true
        found.message.isInAuthorsArchive = true
      }
      waiting[number - dropped]?.content = .pair(found)
      return
    }
    let message = MessageRecord(
      owner: copy.owner, time: copy.time, peer: copy.peer, isInbound: copy.isInbound,
      isInAuthorsArchive: !copy.isInbound, isInAddresseesArchive: copy.isInbound && !copy.isOffline || isOwn,
      isOffline: copy.isOffline, xml: copy.xml)
    numbers[key, default: []].append(dropped + waiting.count)
    if let alike = numbers[key]?.count, alike > ImportLimits.copiesAlikeMax { numbers[key]?.removeFirst() }
    wait(
      .pair(Pair(key: key, message: message, hasAuthors: !copy.isInbound, hasAddressees: copy.isInbound)), place)
  }

  /// Returns the oldest of what waits, if no copy of it can follow.
  private func take() -> (ImportRecord, Place)? {
    guard start < waiting.count, let oldest = waiting[start] else { return nil }
    let isOver =
      isAtEnd || oldest.time < now - ImportLimits.copyWindowMilliseconds
      || waiting.count - start > ImportLimits.copyWindowMax
    guard isOver else { return nil }
    defer { forgetOldest() }
    switch oldest.content {
    case .whole(let record): return (record, oldest.place)
    case .pair(let pair):
      let number = dropped + start
      numbers[pair.key]?.removeAll { $0 == number }
      if numbers[pair.key]?.isEmpty == true { numbers[pair.key] = nil }
      return (.message(pair.message), oldest.place)
    }
  }

  private func forgetOldest() {
    waiting[start] = nil
    start += 1
    // The front is dropped in large pieces.
    if start > 4_096, start > waiting.count / 2 {
      waiting.removeFirst(start)
      dropped += start
      start = 0
    }
  }
}
