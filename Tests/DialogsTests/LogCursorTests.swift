import Addresses
import Basics
import Testing

@testable import Dialogs

/// The place of a session in the log, by itself: every order of commits, deliveries and pages of a short log.
@Suite struct LogCursorTests {
  private static let entries: [Entry] = (1...400).map { number in
    let user = Party(id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "romeo@localhost")!)  // a constant
    return Entry(
      position: Position(Int64(number)), time: Timestamp(milliseconds: 0), dialog: DialogID(1), author: user,
      place: .peer(user), fact: .dialogOpened, id: PublicID(high: 0, low: UInt64(number)))
  }
  private func entry(_ number: Int) -> Entry { Self.entries[number - 1] }

  @Test func entriesUpToTheCursorAreDropped() {
    var cursor = LogCursor(at: Position(3))
    let told = [2, 3, 4, 4, 3, 6].map { cursor.arrived(entry($0), .direct) }
    #expect(told == [false, false, true, false, false, true])
    #expect(cursor == LogCursor(at: Position(6)))
  }

  @Test func heldEntriesAreToldInTheirFormBehindThePage() {
    var cursor = LogCursor(at: .zero, .behind)
    let reads = (cursor.read(), cursor.read())
    #expect(reads == (true, false))
    for (number, form) in [(1, Form.direct), (2, .carbonSent), (3, .room)] { _ = cursor.arrived(entry(number), form) }
    let held = cursor.told(through: Position(1), isLast: true)
    #expect(held == [.init(entry: entry(2), form: .carbonSent), .init(entry: entry(3), form: .room)])
    #expect(cursor == LogCursor(at: Position(3)))
  }

  @Test func moreThanIsHeldIsReadAgain() {
    var cursor = LogCursor(at: .zero, .reading)
    for number in 1...Limits.heldEntriesMax + 1 { _ = cursor.arrived(entry(number), .direct) }
    let held = cursor.told(through: .zero, isLast: true)
    #expect(held == [] && cursor == LogCursor(at: .zero, .behind))
  }

  @Test func aPageThatIsNotTheLastIsFollowedByAnother() {
    var cursor = LogCursor(at: .zero, .reading)
    let held = cursor.told(through: Position(5), isLast: false)
    #expect(held == [] && cursor == LogCursor(at: Position(5), .behind))
  }

  /// Four entries, pages of two, a client that stops and goes on once: after each step the client has been told the log
  /// up to its place, and in the end all of it. A session is registered before any of the steps.
  @Test func everyOrderIsToldOnce() {
    struct World {
      var cursor = LogCursor(at: .zero)
      var committed = 0
      var delivered = 0
      /// Up to where the page on its way reaches, and whether it is the last; nil: none has been read.
      var page: (end: Int, isLast: Bool)?
      var lags = false
      var pauses = 1
      var told = 0
    }
    var orders = 0
    var violations: [String] = []
    func tell(_ number: Int, _ world: inout World) {
      if number != world.told + 1 { violations.append("\(number) behind \(world.told)") }
      world.told = number
    }
    func walk(_ world: World) {
      var isOver = true
      func step(_ body: (inout World) -> Void) {
        isOver = false
        var next = world
        body(&next)
        if violations.isEmpty { walk(next) }
      }
      if world.committed < 4 { step { $0.committed += 1 } }
      if world.delivered < world.committed {
        step { world in
          world.delivered += 1
          let lags = world.lags
          if world.cursor.arrived(entry(world.delivered), .direct, lags: lags) { tell(world.delivered, &world) }
        }
      }
      if world.pauses > 0, !world.lags { step { $0.lags = true } }
      if world.lags {
        step { world in
          (world.lags, world.pauses) = (false, world.pauses - 1)
          _ = world.cursor.read()
        }
      }
      if world.cursor.state == .reading {
        if let page = world.page {
          step { world in
            world.page = nil
            if world.lags { return world.cursor.interrupt() }
            for number in (world.told + 1)..<max(world.told + 1, page.end + 1) { tell(number, &world) }
            let held = world.cursor.told(through: Position(Int64(page.end)), isLast: page.isLast)
            for held in held { tell(Int(held.entry.position.number), &world) }
            _ = world.cursor.read()
          }
        } else {
          step { world in
            let from = Int(world.cursor.position.number)
            let end = min(from + 2, world.committed)
            world.page = (end, end < from + 2)
          }
        }
      }
      guard isOver else { return }
      orders += 1
      if world.told != 4 || world.cursor.state != .following { violations.append("ended at \(world.told) of 4") }
    }
    walk(World())
    #expect(violations == [])
    #expect(orders > 1_000)
  }
}
