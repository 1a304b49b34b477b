import Addresses
import Basics
import Foundation
import Logging
import NIOCore
import NIOEmbedded
import SQLiteStore
import Testing

@testable import Accounts
@testable import AppDoor
@testable import Dialogs

@Suite(.timeLimit(.minutes(1))) struct SyncWaiterTests {
  /// Two answers wait, and there is room for no more: another user's wait ends the oldest of the user with the most.
  @Test func atTheBoundTheUserWithTheMostIsAnsweredEarly() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("parley-sync-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let store = try SQLiteStore(path: folder.path + "/parley.db")
    defer {
      try? store.close()
      try? FileManager.default.removeItem(at: folder)
    }
    var memory = SessionMemory()
    memory.answers = MemoryBound(bytesMax: 2 * AppLimits.heldAnswerBytes)
    let held = memory.answers
    var options = Parley.Options(domains: ["localhost"])
    options.memory = memory
    let logger = Logger(label: "sync") { _ in SwiftLogNoOpLogHandler() }
    let parley = try Parley(store: store, clock: SystemClock(), options: options, logger: logger)
    let loop = NIOAsyncTestingEventLoop()
    let lane = Lane { loop.execute($0) }
    let door = AppDoor(
      accounts: Accounts(parley), settings: AppDoor.Settings(version: "0", registration: false, publicURL: nil),
      loops: loop, lane: { _ in lane }, nextSessionID: { SessionID(.random(in: .min ... .max)) }, logger: logger)
    func waiter(_ number: Int64, _ name: String) throws -> SyncWaiter {
      let party = Party(id: UserID(number), realm: parley.realms[0].id, address: try BareJID("\(name)@localhost"))
      return SyncWaiter(party: party, door: door)
    }
    func until(_ count: Int) async throws {
      let end = ContinuousClock.now + .seconds(30)
      while held.bytes != count * AppLimits.heldAnswerBytes {
        try #require(ContinuousClock.now < end)
        await Task.yield()
      }
    }
    let waiters = [try waiter(1, "juliet"), try waiter(1, "juliet"), try waiter(2, "romeo")]
    let first = Task { try await waiters[0].wait(seconds: 30) }
    try await until(1)
    let second = Task { try await waiters[1].wait(seconds: 30) }
    try await until(2)
    let third = Task { try await waiters[2].wait(seconds: 30) }
    try await first.value
    try await until(2)
    for waiter in waiters { waiter.wake() }
    try await second.value
    try await third.value
    #expect(held.bytes == 0)
  }
}
