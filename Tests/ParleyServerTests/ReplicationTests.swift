import Basics
import Dialogs
import Foundation
import Logging
import SQLiteStore
import ServerFixtures
import Synchronization
import Testing

@testable import ParleyServer

/// Whether somebody replicates the database, as the server sees it.
@Suite struct ReplicationTests {
  private final class HandClock: Clock {
    private let time = Mutex(Timestamp(milliseconds: 1_000_000))
    var now: Timestamp { time.withLock { $0 } }
    func pass(_ seconds: Int) { time.withLock { $0 = $0 + .seconds(seconds) } }
  }

  @Test func aReplicatorThatIsAwayIsMissedUntilItIsBack() throws {
    try withScratchFolder { folder in
      let (path, clock) = (folder + "/parley.db", HandClock())
      let store = try SQLiteStore(path: path)
      let watch = ReplicationWatch(try store.follower(), clock: clock, quiet)
      func look(after seconds: Int) -> String? {
        clock.pass(seconds)
        watch.look()
        return watch.failure
      }
      // It may start after the server.
      #expect(look(after: 0) == nil && look(after: 59) == nil)
      #expect(look(after: 1)?.contains("no program has followed") == true)
      #expect(look(after: 10) != nil && watch.failingSeconds == 70)
      let process = Process()
      let (input, output) = (Pipe(), Pipe())
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["sqlite3", path]
      (process.standardInput, process.standardOutput) = (input, output)
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data("BEGIN; SELECT count(*) FROM entries;\n".utf8))
      _ = output.fileHandleForReading.availableData
      #expect(look(after: 5) == nil && watch.failingSeconds == 0)
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
      // It does not read while it copies the log.
      #expect(look(after: 5) == nil && look(after: 60) != nil)
      try store.close()
    }
  }
}
