import Addresses
import Basics
import Dialogs
import Glibc
import Logging
import SQLiteStore
import Synchronization

/// The committer and the hub without doors: what a message, a presence and a room
/// cost the core. CPU time is the whole process's, commits are synced, deliveries are
/// counted by the sessions that get them.
///
///     core-bench [messages [users]]
@main
enum CoreBench {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
    let messages = arguments.first.map { max(1_000, $0) } ?? 50_000
    let users = arguments.dropFirst().first.map { max(200, $0) } ?? 1_000
    let bench = try await Bench(users: users)
    defer { bench.remove() }
    print("\(messages) messages among \(users) users, each with one session; every commit synced")
    for window in [1, 10, 100, 1_000] {
      try bench.reportCommitter(count: window == 1 ? messages / 10 : messages, window: window)
    }
    try await bench.reportHub()
    try await bench.reportRooms()
    try await bench.reportNodes()
    await bench.parley.stop()
    try bench.store.close()
  }
}

/// Counts its deliveries, on its lane.
final class Session: LiveSession {
  let id: SessionID
  let party: Party
  let lane: Lane
  /// Entries and signals.
  let told = Atomic<Int>(0)
  let settled: @Sendable (Result<Receipt, Problem>) -> Void

  init(_ party: Party, lane: Lane, settled: @escaping @Sendable (Result<Receipt, Problem>) -> Void) {
    id = SessionID(.random(in: .min ... .max))
    self.party = party
    self.lane = lane
    self.settled = settled
  }

  func receive(_ delivery: Delivery) {
    switch delivery {
    case .entry, .signal, .handedOver, .owed: told.wrappingAdd(1, ordering: .relaxed)
    case .outcome(_, let result): settled(result)
    }
  }
  func batchEnded() {}
}

/// A bound on the number of unsettled posts: posting waits for one to be settled.
final class Window: Sendable {
  private struct State {
    var free: Int
    var failed = 0
  }
  private let state: Mutex<State>
  private let size: Int
  private let turns = Semaphore()

  init(_ size: Int) {
    self.size = size
    state = Mutex(State(free: size))
    for _ in 0..<size { turns.signal() }
  }

  func enter() { turns.wait() }
  func leave(_ result: Result<Receipt, Problem>) {
    if case .failure = result { state.withLock { $0.failed += 1 } }
    turns.signal()
  }
  /// Waits until everything that entered has left; the failures.
  func empty() -> Int {
    for _ in 0..<size { turns.wait() }
    return state.withLock { $0.failed }
  }
}

/// The window that is open just now.
final class Current: Sendable {
  let window = Mutex<Window?>(nil)
}

/// A POSIX semaphore.
private final class Semaphore: @unchecked Sendable {  // the system guards it
  private let raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { sem_init(raw, 0, 0) }
  deinit {
    sem_destroy(raw)
    raw.deallocate()
  }
  func signal() { sem_post(raw) }
  func wait() { while sem_wait(raw) != 0 {} }
}

final class Bench {
  let store: SQLiteStore
  let parley: Parley
  private let folder: String
  var parties: [Party] = []
  var sessions: [Session] = []
  let current = Current()
  let lane = Lane { $0() }
  let extras = Array(
    """
    <body xmlns='jabber:client'>It is the east, and Juliet is the sun. Arise, fair sun.</body>\
    <origin-id xmlns='urn:xmpp:sid:0' id='1f5c0e2a-8c1b-4a57-9a0e-51b8dc0f0001'/>
    """.utf8)

  /// Users in a ring of private dialogs; the first has all others up to 100 as
  /// contacts who see its presence.
  init(users count: Int) async throws {
    folder = "core-bench-\(getpid())"
    mkdir(folder, 0o700)
    store = try SQLiteStore(path: folder + "/parley.db")
    parley = try Parley(
      store: store, clock: WallClock(), options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "core-bench") { _ in SwiftLogNoOpLogHandler() })
    let (realm, now) = (parley.realms[0].id, parley.clock.now)
    parties = try await parley.work { writer in
      try (0..<count).map { index in
        let user = try writer.insertUser(
          BareJID("user\(index)@localhost"), in: realm, profile: Profile(), createdAt: now)
        return Party(id: user.id, realm: user.realm, address: user.address)
      }
    }
    for contact in parties[1...100] {
      try await parley.post(.link(contact.address, name: nil, groups: [], mutual: true), by: parties[0])
    }
    for party in parties {
      let session = Session(party, lane: lane) { [current] result in current.window.withLock { $0 }?.leave(result) }
      sessions.append(session)
      try await parley.post(.goOnline(OnlineSession(session: session, door: .xmpp, resource: "bench")), by: party)
      parley.hub.setPresence(presence(of: party), of: session)
    }
  }

  func remove() {
    for suffix in ["", "-wal", "-shm"] { unlink(folder + "/parley.db" + suffix) }
    rmdir(folder)
  }

  func presence(of party: Party) -> Presence {
    Presence(from: party, resource: "bench", availability: .online, time: parley.clock.now)
  }

  var told: Int { sessions.reduce(0) { $0 + $1.told.load(ordering: .relaxed) } }

  /// Measures the way of a message from the inbox to the receiver's lane: judged, written, synced, routed.
  func reportCommitter(count: Int, window size: Int) throws {
    let window = Window(size)
    current.window.withLock { $0 = window }
    let before = told
    let start = (cpu: cpuSeconds(), wall: wallSeconds())
    for number in 0..<count {
      let index = number % parties.count
      let draft = MessageDraft(
        to: parties[(index + 1) % parties.count].address,
        content: Content(kind: .text, text: "It is the east, and Juliet is the sun. Arise, fair sun.", extras: extras),
        envelope: Envelope(type: .chat, fromResource: "bench", id: "\(size)-\(number)"),
        traits: [.counts, .archived, .replayed],
        key: RepeatKey(rule: .xmpp, id: "\(size)-\(number)", bodyHash: UInt64(number)))
      window.enter()
      let post = Post(author: parties[index], intent: .message(draft), completion: .session(sessions[index], token: 1))
      precondition(parley.submit(post), "the inbox is larger than any window here")
    }
    let failed = window.empty()
    let (cpu, wall) = (cpuSeconds() - start.cpu, wallSeconds() - start.wall)
    guard failed == 0, told - before == count else {
      throw Wrong(text: "\(failed) of \(count) messages failed, \(told - before) were told")
    }
    print(
      "committer, \(size) on their way: \(Int(Double(count) / cpu)) messages/cpu-s, \(micro(cpu, count)) us each; "
        + "\(Int(Double(count) / wall))/s")
  }

  /// Measures live signals: no store, no log.
  func reportHub() async throws {
    let mine = sessions[0]
    try measure("hub, a presence to 100 contacts", times: 20_000, deliveries: 101) {
      parley.hub.setPresence(presence(of: mine.party), of: mine)
    }
    let stanza = Signal.stanza(
      RelayedStanza(
        name: .message(.chat), from: mine.party, fromResource: "bench", to: parties[1].address, toResource: nil,
        id: nil, extras: extras))
    try measure("hub, a chat state to one user", times: 200_000, deliveries: 1) {
      parley.hub.signal(stanza, from: mine, party: mine.party, to: .user(parties[1].address, resource: nil))
    }
    var found = 0
    try measure("hub, who is here", times: 1_000_000, deliveries: 0) {
      found += parley.hub.onlineSessions(of: parties[found % parties.count].id).count
    }
    guard found == 1_000_000 else { throw Wrong(text: "\(found) sessions were found") }
  }

  private func measure(_ name: String, times: Int, deliveries: Int, _ body: () -> Void) throws {
    let before = told
    let start = cpuSeconds()
    for _ in 0..<times { body() }
    let cpu = cpuSeconds() - start
    guard told - before == times * deliveries else { throw Wrong(text: "\(name): \(told - before) were told") }
    let each = deliveries > 1 ? ", \(micro(cpu, times * deliveries)) us per delivery" : ""
    print("\(name): \(Int(Double(times) / cpu))/cpu-s, \(micro(cpu, times)) us each\(each)")
  }
}

private struct WallClock: Clock {
  var now: Timestamp {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
  }
}

/// A benchmark whose work is not what it should be has no figure.
struct Wrong: Error { let text: String }

func micro(_ seconds: Double, _ count: Int) -> Double { (seconds * 1e8 / Double(count)).rounded() / 100 }

func cpuSeconds() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
func wallSeconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
