import Synchronization

/// Runs the scripts of many seeds, and makes the shortest script it can of one that fails.
public enum Simulation {
  /// A seed at which the core does not do what the model says.
  public struct Failure: Error, CustomStringConvertible {
    public let seed: UInt64
    public let violation: String
    public let script: [Action]
    /// The seeds whose scripts the database must have carried before; empty: it fails on a new one.
    public let former: [UInt64]
    /// The seed to begin with, so that it fails again.
    public let first: UInt64

    public var description: String {
      let lines = script.map { "  .\($0)," }.joined(separator: "\n")
      let behind = former.isEmpty ? "" : ", on a database that has carried the scripts of the seeds \(former)"
      return "seed \(seed): \(violation)\nThe shortest script found, of \(script.count) steps\(behind):\n[\n\(lines)\n]"
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
            let indices = state.take(limit: count)
            if indices.isEmpty { return }
            let database = try Database()
            for index in indices {
              let seed = first &+ UInt64(index)
              let report = try await Run.play(Generator.script(seed: seed), on: database)
              if let violation = report.violation {
                throw try await failure(
                  seed, violation, after: indices.prefix { $0 < index }.map { first &+ UInt64($0) })
              }
              progress(state.add(report))
              if ContinuousClock.now >= end || Task.isCancelled { break }
            }
            try database.close()
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

    /// Returns the next scripts, as many as one database carries.
    func take(limit: Int) -> Range<Int> {
      state.withLock { state in
        let start = min(state.next, limit)
        state.next = min(start + Database.scriptsMax, limit)
        return start..<state.next
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

  /// Leaves out what the database has carried before, and then steps, for as long as the script still fails.
  private static func failure(_ seed: UInt64, _ known: String, after former: [UInt64]) async throws -> Failure {
    var violation = known
    func fails(behind seeds: [UInt64], _ script: [Action]) async throws -> Bool {
      guard let found = try await Run.play(seeds.map { Generator.script(seed: $0) } + [script]).violation else {
        return false
      }
      violation = found
      return true
    }
    let script = Generator.script(seed: seed)
    var needed: [UInt64] = []
    if try await !fails(behind: [], script) {
      guard try await fails(behind: former, script) else {
        return Failure(
          seed: seed, violation: "\(known) (not when tried again)", script: script, former: former,
          first: former.first ?? seed)
      }
      needed = try await shortest(former) { try await fails(behind: $0, script) }
    }
    let steps = try await shortest(script) { try await fails(behind: needed, $0) }
    return Failure(
      seed: seed, violation: violation, script: steps, former: needed,
      first: needed.isEmpty ? seed : former.first ?? seed)
  }

  /// Leaves out elements for as long as `isEnough`: halves of them first, then smaller parts, then single ones.
  private static func shortest<Element>(
    _ elements: [Element], _ isEnough: ([Element]) async throws -> Bool
  ) async throws -> [Element] {
    var elements = elements
    var size = elements.count / 2
    while size > 0 {
      var start = 0
      var isShorter = false
      while start < elements.count {
        var part = elements
        part.removeSubrange(start..<min(start + size, elements.count))
        if try await isEnough(part) {
          (elements, isShorter) = (part, true)
        } else {
          start += size
        }
      }
      if !isShorter || size > 1 { size /= 2 }
    }
    return elements
  }
}
