/// The copies of messages of all users, put into the order of their time, and the two copies of each message made one.
///
/// The log's time never decreases, and archives come by user: so all copies are gathered in a temporary database first,
/// which also keeps memory flat.
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
  /// The time of the last copy that was read.
  private var now = Int64.min
  /// The copies that were added.
  public private(set) var count = 0

  /// The messages that may still have another copy, the oldest at `start`. The numbers of `numbers` are those of places
  /// in it plus `dropped`.
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
    let key: Key
    var message: MessageRecord
    let place: Place
    var hasAuthors: Bool
    var hasAddressees: Bool
  }

  public init() throws(SourceFailure) {
    database = try Database()
    try database.run(
      """
      PRAGMA journal_mode = OFF;
      PRAGMA temp_store = FILE;
      CREATE TABLE copies (time INTEGER, owner TEXT, peer TEXT, flags INTEGER, id TEXT, digest INTEGER, xml TEXT, place TEXT);
      BEGIN;
      """)
    insert = try database.prepare("INSERT INTO copies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
  }

  public func add(_ copy: MessageCopy, _ place: Place) throws(SourceFailure) {
    insert.bind(1, copy.time)
    insert.bind(2, copy.owner)
    insert.bind(3, copy.peer)
    insert.bind(4, (copy.isInbound ? 1 : 0) | (copy.isOffline ? 2 : 0))
    insert.bind(5, copy.id)
    insert.bind(6, Int64(bitPattern: copy.digest))
    insert.bind(7, copy.xml)
    insert.bind(8, place.description)
    try insert.run()
    count += 1
  }

  /// Returns the next message in the order of time; `nil` at the end. Nothing is added any more.
  public func next() throws(SourceFailure) -> (MessageRecord, Place)? {
    if select == nil { select = try begin() }
    guard let select else { return nil }
    while true {
      if let ready = take() { return ready }
      if isAtEnd { return nil }
      guard try select.step() else {
        isAtEnd = true
        continue
      }
      let copy = MessageCopy(
        owner: select.text(1), time: select.int(0), peer: select.text(2), isInbound: select.int(3) & 1 != 0,
        isOffline: select.int(3) & 2 != 0, id: select.text(4), digest: UInt64(bitPattern: select.int(5)),
        xml: select.text(6))
      now = copy.time
      put(copy, Place(file: select.text(7)))
    }
  }

  private func begin() throws(SourceFailure) -> Database.Statement {
    try database.run("COMMIT")
    return try database.prepare(
      "SELECT time, owner, peer, flags, id, digest, xml, place FROM copies ORDER BY time, rowid")
  }

  private func put(_ copy: MessageCopy, _ place: Place) {
    let (author, addressee) = copy.isInbound ? (copy.peer, copy.owner) : (copy.owner, copy.peer)
    let key = Key(
      author: author.lowercased(), addressee: addressee.lowercased(), id: copy.id, digest: copy.digest)
    let isOwn = key.author == key.addressee
    for number in numbers[key] ?? [] {
      guard var found = waiting[number - dropped] else { continue }
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
      waiting[number - dropped] = found
      return
    }
    let message = MessageRecord(
      owner: copy.owner, time: copy.time, peer: copy.peer, isInbound: copy.isInbound,
      isInAuthorsArchive: !copy.isInbound, isInAddresseesArchive: copy.isInbound && !copy.isOffline || isOwn,
      isOffline: copy.isOffline, xml: copy.xml)
    numbers[key, default: []].append(dropped + waiting.count)
    waiting.append(
      Waiting(key: key, message: message, place: place, hasAuthors: !copy.isInbound, hasAddressees: copy.isInbound))
  }

  /// Returns the oldest message that can have no further copy.
  private func take() -> (MessageRecord, Place)? {
    guard start < waiting.count, let oldest = waiting[start] else { return nil }
    let isOver =
      isAtEnd || oldest.message.time < now - ImportLimits.copyWindowMilliseconds
      || waiting.count - start > ImportLimits.copyWindowMax
    guard isOver else { return nil }
    let number = dropped + start
    numbers[oldest.key]?.removeAll { $0 == number }
    if numbers[oldest.key]?.isEmpty == true { numbers[oldest.key] = nil }
    waiting[start] = nil
    start += 1
    // The front is dropped in large pieces.
    if start > 4_096, start > waiting.count / 2 {
      waiting.removeFirst(start)
      dropped += start
      start = 0
    }
    return (oldest.message, oldest.place)
  }
}
