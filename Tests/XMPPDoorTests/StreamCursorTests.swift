import Addresses
import Dialogs
import Testing

@testable import XMPPDoor

/// The entries and earlier messages that a session has been sent. `InterleavingTests` tests every order of the events
/// around it.
@Suite struct StreamCursorTests {
  private func at(_ number: Int64) -> Position { Position(number) }

  private func entry(_ number: Int64) throws -> Entry {
    let user = try person("romeo@montague.lit")
    return Entry(
      position: at(number), time: someTime, dialog: DialogID(1), author: user, place: .peer(user),
      fact: .dialogOpened, id: PublicID(high: 0, low: UInt64(number)))
  }

  @Test func aSessionThatKeepsUpIsToldAtOnce() throws {
    var cursor = StreamCursor(at: at(3), replay: .over, replayed: .zero)
    let told = try [3, 4, 6, 6, 5].map { cursor.arrived(try entry($0), .direct, lags: false) }
    #expect(told == [false, true, true, false, false])
    #expect(cursor.log == LogCursor(at: at(6)) && cursor.isCaughtUp)
    let read = cursor.next()
    #expect(read == nil)
  }

  @Test func aClientThatLagsGetsTheRestFromTheLog() throws {
    var cursor = StreamCursor(at: at(4), replay: .over, replayed: .zero)
    let late = cursor.arrived(try entry(5), .direct, lags: true)
    // Once behind, what comes live is behind it too, whether the client lags or not.
    let later = cursor.arrived(try entry(6), .direct, lags: false)
    #expect(!late && !later && !cursor.isCaughtUp)
    let reads = (cursor.next(), cursor.next())
    #expect(reads == (.log(after: at(4)), nil))
    let held = cursor.told(through: at(6), isLast: true, lags: false)
    #expect(held == [] && cursor.isCaughtUp)
    let now = cursor.arrived(try entry(7), .direct, lags: false)
    #expect(now)
  }

  @Test func anEmptyPageLosesNothingThatCameMeanwhile() throws {
    var cursor = StreamCursor(at: at(10), .behind, replay: .over, replayed: .zero)
    _ = cursor.next()
    let early = cursor.arrived(try entry(11), .direct, lags: false)
    #expect(!early)
    let held = cursor.told(through: at(10), isLast: true, lags: false)
    #expect(held.map(\.entry.position) == [at(11)])
    #expect(cursor.log.position == at(11))
  }

  /// A client that has been sent nothing has nothing to confirm, and would wait for ever.
  @Test func aReplayGoesOnBehindRowsWithoutMessages() throws {
    var cursor = StreamCursor(at: at(30), replayed: at(10))
    cursor.becameAvailable()
    let first = cursor.next()
    #expect(first == .replay(after: at(10), log: at(30)))
    cursor.replayPassed(to: at(20))
    let second = cursor.next()
    #expect(second == .replay(after: at(20), log: at(30)) && cursor.replay == .reading)
  }

  @Test func offlineMessagesGoOverIntoTheLog() throws {
    var cursor = StreamCursor(at: at(30), replayed: at(20))
    cursor.becameAvailable()
    let read = cursor.next()
    #expect(read == .replay(after: at(20), log: at(30)))
    // Committed before the page was read, delivered behind it: the replay has told it.
    cursor.replayEnded(at: at(32))
    let held = cursor.told(through: at(32), isLast: true, lags: false)
    #expect(held == [])
    let repeated = cursor.arrived(try entry(32), .direct, lags: false)
    #expect(!repeated && cursor.replay == .over)
    // Only those entries of a page of the log are told that the replay did not have.
    let tells = (cursor.tells(at(32), .direct, isAvailable: true), cursor.tells(at(33), .direct, isAvailable: true))
    #expect(tells == (false, true))
  }

  @Test func aLongReplayWaitsForItsConfirmation() throws {
    var cursor = StreamCursor(at: at(2_000), replayed: .zero)
    cursor.becameAvailable()
    _ = cursor.next()
    cursor.replayed(through: at(1_000))
    #expect(cursor.replay == .waiting && !cursor.isCaughtUp)
    // Nothing is held meanwhile.
    let live = cursor.arrived(try entry(2_001), .direct, lags: false)
    #expect(!live && cursor.log.state == .behind)
    let confirmed = (cursor.confirmed(at(999)), cursor.confirmed(at(1_000)), cursor.confirmed(at(1_000)))
    #expect(confirmed == (false, true, false))
    let read = cursor.next()
    #expect(read == .replay(after: at(1_000), log: at(2_000)))
  }

  @Test func aSessionThatMovesReadsAgain() {
    var cursor = StreamCursor(at: at(7), replayed: at(3))
    cursor.becameAvailable()
    let first = cursor.next()
    cursor.interrupt()
    let again = cursor.next()
    #expect(first == again && first == .replay(after: at(3), log: at(7)))
  }

  @Test func entriesToldBeforeTheReplayAreLeftOut() {
    var cursor = StreamCursor(at: at(10), replayed: at(3))
    // Copies wait for the offline messages of a client that has not been available.
    let copy = cursor.tells(at(11), .carbonReceived, isAvailable: false)
    // Messages to the client's full address (RFC 6121 8.5.3.1), and copies at a negative priority, do not wait.
    let exact = cursor.tells(at(12), .direct, isAvailable: false)
    let negative = cursor.tells(at(13), .carbonReceived, isAvailable: true)
    #expect(!copy && exact && negative)
    cursor.becameAvailable()
    #expect([4, 11, 12, 13, 14].map { cursor.isInOrder(at($0)) } == [true, true, false, false, true])
  }

  @Test func entriesToldEarlyAreBounded() {
    var cursor = StreamCursor(at: .zero, replayed: .zero)
    for number in 1...Int64(DoorLimits.earlyMessagesMax + 5) {
      _ = cursor.tells(at(number), .direct, isAvailable: true)
    }
    #expect(cursor.early.count == DoorLimits.earlyMessagesMax && cursor.early.first == at(6))
  }

  @Test func aClientThatReadsTheArchiveGetsNoEarlierMessages() {
    var cursor = StreamCursor(at: at(9), replayed: at(3))
    #expect(cursor.readsArchive() == at(4)...at(9))
    #expect(cursor.readsArchive() == nil)
    cursor.becameAvailable()
    let read = cursor.next()
    #expect(read == .replay(after: at(9), log: at(9)))
  }

  /// There is nothing older that would be sent after them.
  @Test func aClientThatReadsTheArchiveGetsCopiesAtOnce() {
    var cursor = StreamCursor(at: at(9), replayed: at(3))
    cursor.readsArchive()
    let isTold = cursor.tells(at(10), .carbonReceived, isAvailable: false)
    #expect(isTold && cursor.early == [at(10)])
  }
}
