import Synchronization

/// Runs the scripts of many seeds, and makes the shortest script it can of one that fails.
public enum Simulation {
  /// How many steps a script has. Of fewer most of the time would go into opening databases, of more into comparing.
  public static let steps = 2_000

  /// A seed at which the core does not do what the model says.
  public struct Failure: Error, CustomStringConvertible {
    public let seed: UInt64
    public let violation: String
    public let script: [Action]

    public var description: String {
      let lines = script.map { "  .\($0)," }.joined(separator: "\n")
      return "seed \(seed): \(violation)\nThe shortest script found, of \(script.count) steps:\n[\n\(lines)\n]"
    }
  }

  /// The sums over many runs. A conversation is a pair of users, or a room, in which something was said.
  public struct Totals: Sendable {
    public var seeds = 0
    public var posts = 0
    public var batches = 0
    public var conversations = 0
  }

  /// Runs seeds from `first` on, `count` of them or until `time` is over, on so many threads, and one on each in any case.
  ///
  /// - Parameter progress: called after each seed.
  /// - Throws: the first `Failure`.
  public static func run(
    from first: UInt64, count: Int = .max, for time: Duration = .seconds(86_400 * 365), threads: Int,
    progress: @escaping @Sendable (Totals) -> Void = { _ in }
  ) async throws -> Totals {
    let end = ContinuousClock.now + time
    let state = Progress()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<threads {
        group.addTask {
          repeat {
            let index = state.take()
            guard index < count else { return }
            let seed = first &+ UInt64(index)
            let script = Generator.script(seed: seed, count: steps)
            let report = try await Run.play(script)
            if report.violation != nil { throw try await failure(seed, script) }
            let totals = state.add(report)
            progress(totals)
          } while ContinuousClock.now < end && !Task.isCancelled
        }
      }
      try await group.waitForAll()
    }
    return state.totals
  }

  private final class Progress: Sendable {
    private let state = Mutex((next: 0, totals: Totals()))
    var totals: Totals { state.withLock { $0.totals } }

    func take() -> Int {
      state.withLock { state in
        defer { state.next += 1 }
        return state.next
      }
    }

    func add(_ report: Run.Report) -> Totals {
      state.withLock { state in
        state.totals.seeds += 1
        state.totals.posts += report.posts
        state.totals.batches += report.batches
        state.totals.conversations += report.conversations
        return state.totals
      }
    }
  }

  /// Leaves out steps for as long as the script still fails: halves of it first, then smaller parts, then single steps.
  private static func failure(_ seed: UInt64, _ script: [Action]) async throws -> Failure {
    var script = script
    var violation = try await Run.play(script).violation
    var size = script.count / 2
    while size > 0 {
      var start = 0
      var isShorter = false
      while start < script.count {
        var part = script
        part.removeSubrange(start..<min(start + size, script.count))
        if let found = try await Run.play(part).violation {
          (script, violation, isShorter) = (part, found, true)
        } else {
          start += size
        }
      }
      if !isShorter || size > 1 { size /= 2 }
    }
    return Failure(seed: seed, violation: violation ?? "It does not fail again.", script: script)
  }
}
