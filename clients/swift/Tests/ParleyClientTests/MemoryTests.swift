import Foundation
import Testing

@testable import ParleyClient

#if os(Linux)
  /// A process of its own (`PARLEY_MESSAGES`), so that no other test's memory is measured.
  @Suite(.enabled(if: Control.environment["PARLEY_MESSAGES"] != nil))
  struct MemoryTests {
    /// Bytes: -1.2, 0.4 and 2.0 MiB were measured, and 9.5 where the messages of one of the clients stay.
    let growthMax = 6 << 20

    @Test("Messages sent and received with open views: none is lost, and memory is flat")
    func memory() async throws {
      let count = try #require(Control.environment["PARLEY_MESSAGES"].flatMap { Int($0) })
      let (sender, receiver) = (try await Control.person("mercutio"), try await Control.person("benvolio"))
      let talk = try await sender.openPrivate("benvolio").id
      let views = [try await sender.view(talk), try await receiver.view(talk)]
      for view in views { try await view.fresh() }
      var events = await receiver.events().makeAsyncIterator()
      let begin = "\(UUID()) "
      var received = 0
      func exchange(until count: Int) async throws -> Int {
        while received < count {
          // As a user who writes faster than the network: a hundred wait at a time.
          let end = min(received + 100, count)
          for number in received..<end { try await sender.send(talk, begin + String(number)) }
          try await sender.sent()
          while received < end {
            let event = try #require(await events.next())
            guard case .message(let message, _, _) = event, message.content.text.hasPrefix(begin) else { continue }
            try #require(message.content.text == begin + String(received))
            received += 1
          }
        }
        return try resident()
      }
      let first = try await exchange(until: count / 5)
      let last = try await exchange(until: count)
      print("resident \(first >> 10) KiB after \(count / 5), \(last >> 10) KiB after \(count)")
      #expect(last - first < growthMax)
      for view in views { #expect(await view.messages.count <= Limits.liveMessages + 100) }
      await sender.close()
      await receiver.close()
    }

    /// Without what the allocator keeps of memory that is free, which differs by some MiB between runs.
    private func resident() throws -> Int {
      let trim = try #require(dlsym(nil, "malloc_trim"))
      _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
      return try #require(Int(pages)) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
  }
#endif
