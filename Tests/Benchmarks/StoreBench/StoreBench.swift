import Addresses
import Basics
import Dialogs
import Glibc
import SQLiteStore

/// Messages per CPU-second through `Store.write`, by batch size, and archive
/// pages per CPU-second. Every commit is synced. CPU time is the whole process's,
/// checkpoints included.
///
///     store-bench [messages [dialogs [prefilled messages]]]
///     store-bench one-user [messages [dialogs]]
///
/// The second form is one user with all the dialogs (a million messages in 1,000), and
/// what their clients ask of so much: pages of the whole archive at its ends and in its
/// middle beside a page of one dialog, and the inbox.
///
/// "inserts" is the five rows of a message; "as the core" adds what the core does
/// besides: the look for a repeat, the dialog's row, the author's mark, the head.
@main
enum StoreBench {
  static func main() throws {
    if CommandLine.arguments.dropFirst().first == "one-user" { return try oneUser() }
    let arguments = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
    let messages = arguments.first.map { max(1_000, $0) } ?? 50_000
    let dialogs = arguments.dropFirst().first.map { max(1, $0) } ?? 5_000
    let prefilled = arguments.dropFirst(2).first ?? 0
    print("\(messages) messages in \(dialogs) dialogs at random, \(prefilled) there before")
    let bench = try Bench(dialogs: dialogs)
    defer { bench.remove() }
    if prefilled > 0 { try bench.report("prefill", batch: 5_000, count: prefilled, asCore: false) }
    for asCore in [false, true] {
      for batch in [1, 10, 100, 1_000] {
        let count = batch == 1 ? messages / 10 : messages
        try bench.report(asCore ? "as the core" : "inserts", batch: batch, count: count, asCore: asCore)
      }
    }
    try bench.reportPages()
    try bench.store.close()
  }

  private static func oneUser() throws {
    let arguments = CommandLine.arguments.dropFirst(2).map { Int($0) ?? 0 }
    let messages = arguments.first.map { max(1_000, $0) } ?? 1_000_000
    let dialogs = arguments.dropFirst().first.map { max(1, $0) } ?? 1_000
    print("one user, \(messages) messages in \(dialogs) dialogs")
    let bench = try Bench(dialogs: dialogs, isOneUsers: true)
    defer { bench.remove() }
    try bench.report("prefill", batch: 5_000, count: messages - dialogs, asCore: true)
    // Whatever chance has done: something in each.
    try bench.sayEverywhere()
    try bench.reportWholeArchive(messages)
    try bench.store.close()
  }
}

final class Bench {
  let store: SQLiteStore
  private let folder: String
  private var dialogs: [Dialog] = []
  private var marks: [[Mark]] = []
  private var position = Position.zero
  private var time = Timestamp(milliseconds: 1_700_000_000_000)
  private var random = Xorshift()
  private let extras = Array(
    """
    <body xmlns='jabber:client'>It is the east, and Juliet is the sun. Arise, fair sun.</body>\
    <origin-id xmlns='urn:xmpp:sid:0' id='1f5c0e2a-8c1b-4a57-9a0e-51b8dc0f0001'/>\
    <request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/>
    """.utf8)

  /// - Parameter isOneUsers: the first user is in all dialogs.
  init(dialogs count: Int, isOneUsers: Bool = false) throws {
    folder = "store-bench-\(getpid())"
    mkdir(folder, 0o700)
    store = try SQLiteStore(path: folder + "/parley.db")
    let time = time
    let made = try store.write { writer in
      let realm = try writer.insertRealm(
        domain: "localhost", rooms: "conference.localhost", key: [UInt8](repeating: 7, count: 32), epoch: 1)
      // There are as many users as dialogs, and each user has two dialogs.
      let parties = try (0..<max(2, isOneUsers ? count + 1 : count)).map { index in
        let address = try BareJID("user\(index)@localhost")
        let user = try writer.insertUser(address, in: realm.id, profile: Profile(), createdAt: time)
        return Party(id: user.id, realm: realm.id, address: address)
      }
      return try (0..<count).map { index in
        try writer.insert(
          dialog: .privately, first: parties[isOneUsers ? 0 : index], second: parties[(index + 1) % parties.count],
          createdAt: time)
      }
    }
    dialogs = made
    marks = made.map { [Mark(dialog: $0.id, user: $0.first.id), Mark(dialog: $0.id, user: $0.second.id)] }
  }

  func remove() {
    for suffix in ["", "-wal", "-shm"] { unlink(folder + "/parley.db" + suffix) }
    rmdir(folder)
  }

  func report(_ name: String, batch: Int, count: Int, asCore: Bool) throws {
    let start = (cpu: cpuSeconds(), system: systemSeconds(), wall: wallSeconds())
    var left = count
    while left > 0 {
      let size = min(batch, left)
      try write(size, asCore: asCore)
      left -= size
    }
    let (cpu, system, wall) = (cpuSeconds() - start.cpu, systemSeconds() - start.system, wallSeconds() - start.wall)
    let perSecond = Int(Double(count) / cpu)
    print(
      "\(name), batches of \(batch): \(perSecond) messages/cpu-s, \(micro(cpu, count)) us each, "
        + "\(micro(system, count)) of them in the kernel; \(Int(Double(count) / wall))/s")
  }

  private func write(_ size: Int, asCore: Bool) throws {
    try store.write { writer in
      var touched: [Int: Int] = [:]
      for _ in 0..<size {
        let index = Int(random.next() % UInt64(dialogs.count))
        let side = Int(random.next() & 1)
        let entry = message(in: index, by: side)
        let peer = dialogs[index].peer(of: entry.author.id)
        let key = RepeatKey(rule: .xmpp, id: "m\(entry.position.number)-\(index)", bodyHash: random.next())
        if asCore { _ = try writer.find(key.id, by: entry.author.id, in: entry.dialog) }
        try writer.insert(
          entry,
          feeds: [
            FeedRow(user: entry.author.id, traits: .archived),
            FeedRow(user: peer.id, traits: [.archived, .inbound, .replayed]),
          ], key: key)
        touched[index, default: 0] |= 1 << side
      }
      guard asCore else { return }
      for (index, sides) in touched {
        try writer.update(dialogs[index])
        for side in 0...1 where sides & (1 << side) != 0 { try writer.put(marks[index][side], superseded: .zero) }
      }
      try writer.setHead(position, time: time)
    }
  }

  private func message(in index: Int, by side: Int) -> Entry {
    position = position.next
    time = time + .milliseconds(3)
    dialogs[index].sequence += 1
    dialogs[index].ordinal += 1
    dialogs[index].end(at: position, isShown: true)
    marks[index][side].own += 1
    let dialog = dialogs[index]
    let message = Message(
      sequence: dialog.sequence,
      content: Content(kind: .text, text: "It is the east, and Juliet is the sun. Arise, fair sun.", extras: extras),
      envelope: Envelope(type: .chat, fromResource: "orchard", id: "m\(position.number)-\(index)"),
      traits: [.counts, .archived, .replayed, .markable, .receipted])
    return Entry(
      position: position, time: time, dialog: dialog.id, author: side == 0 ? dialog.first : dialog.second,
      place: .peer(side == 0 ? dialog.second : dialog.first), fact: .message(message),
      id: PublicID(high: 0, low: UInt64(position.number)))
  }

  func sayEverywhere() throws {
    try store.write { writer in
      for index in dialogs.indices {
        let entry = message(in: index, by: 1)
        try writer.insert(
          entry,
          feeds: [
            FeedRow(user: entry.author.id, traits: .archived),
            FeedRow(user: dialogs[index].first.id, traits: [.archived, .inbound, .replayed]),
          ], key: nil)
        try writer.update(dialogs[index])
        try writer.put(marks[index][1], superseded: .zero)
      }
    }
  }

  /// Measures the archive of the user who has all dialogs.
  func reportWholeArchive(_ messages: Int) throws {
    let rounds = 500
    for (name, start) in [("first", Int64(0)), ("middle", Int64(messages / 2)), ("last", -1)] {
      try pages("whole archive, \(name) page", rounds) { user, reader in
        var query = ArchiveQuery(limit: 50)
        query.after = Position(max(0, start))
        query.backwards = start < 0
        return try reader.archive(of: .server(user.id, .administration), query).entries.count
      }
    }
    try pages("one dialog, a page", rounds) { [self] user, reader in
      var query = ArchiveQuery(limit: 50)
      query.backwards = true
      query.with = dialogs[Int(random.next() % UInt64(dialogs.count))].id
      return try reader.archive(of: .server(user.id, .administration), query).entries.count
    }
    try pages("the first and last of the archive (metadata)", rounds) { user, reader in
      var query = ArchiveQuery(limit: 1)
      let first = try reader.archive(of: .server(user.id, .administration), query).entries.count
      query.backwards = true
      return try first + reader.archive(of: .server(user.id, .administration), query).entries.count
    }
    for withMessages in [true, false] {
      try pages(withMessages ? "inbox" : "inbox without messages", 50) { user, reader in
        let page = try reader.conversations(of: .own(user), ConversationQuery(limit: 1_000))
        if withMessages { for conversation in page.conversations { _ = try reader.last(of: conversation, for: user) } }
        return page.conversations.count
      }
    }
    // "sun" is in every message, "verona" in none.
    for (name, text) in [("a word of all messages", "sun"), ("words of which one is in none", "sun verona")] {
      try pages("search for \(name), newest page", 50) { user, reader in
        var query = ArchiveQuery(limit: 50)
        query.text = text
        query.backwards = true
        return try reader.archive(of: .server(user.id, .administration), query).entries.count
      }
    }
    try pages("displayed in every dialog", 50) { user, reader in
      try reader.displayed(by: user.id, limit: 5_000).count
    }
  }

  /// Random users, the newest 50 or a random window; then one contact's.
  func reportPages() throws {
    let rounds = 2_000
    try pages("archive pages, newest", rounds) { user, reader in
      var query = ArchiveQuery(limit: 50)
      query.backwards = true
      return try reader.archive(of: .server(user.id, .administration), query).entries.count
    }
    try pages("archive pages, from a random time", rounds) { [self] user, reader in
      var query = ArchiveQuery(limit: 50)
      query.start = Timestamp(milliseconds: time.milliseconds - Int64(random.next() % UInt64(3 * position.number)))
      return try reader.archive(of: .server(user.id, .administration), query).entries.count
    }
    try pages("archive pages, with one contact", rounds) { [self] user, reader in
      var query = ArchiveQuery(limit: 50)
      query.backwards = true
      query.with = dialogs.first { $0.first.id == user.id }?.id
      return try reader.archive(of: .server(user.id, .administration), query).entries.count
    }
    try pages("dialog lists", rounds) { user, reader in
      try reader.dialogs(of: .server(user.id, .administration), before: .end, limit: 50).count
    }
  }

  private func pages(_ name: String, _ rounds: Int, _ body: (Party, any StoreReader) throws -> Int) throws {
    let start = cpuSeconds()
    var entries = 0
    for _ in 0..<rounds {
      let user = dialogs[Int(random.next() % UInt64(dialogs.count))].first
      entries += try store.read { try body(user, $0) }
    }
    let cpu = cpuSeconds() - start
    print(
      "\(name): \(Int(Double(rounds) / cpu))/cpu-s, \(micro(cpu, rounds)) us each, "
        + "\(entries / rounds) entries each, \(micro(cpu, max(1, entries))) us per entry")
  }
}

struct Xorshift {
  private var state: UInt64 = 88_172_645_463_325_252
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

private func micro(_ seconds: Double, _ count: Int) -> Double { (seconds * 1e7 / Double(count)).rounded() / 10 }

private func usage() -> rusage {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage
}

private func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
private func cpuSeconds() -> Double { seconds(usage().ru_utime) + seconds(usage().ru_stime) }
private func systemSeconds() -> Double { seconds(usage().ru_stime) }
private func wallSeconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
