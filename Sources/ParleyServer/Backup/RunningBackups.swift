import Basics
import Dialogs
import FileStorage
import Synchronization

/// The backups under way, which a stop of the server ends: nobody waits for hundreds of gigabytes, and what they have
/// begun is removed, or continued by the next one.
final class RunningBackups: Sendable {
  private struct State {
    var isStopping = false
    var count = 0
    /// Those that are asked.
    var buckets: [Bucket] = []
  }
  private let state = Mutex(State())
  /// Ends when all have ended that were under way at the stop.
  private let (ends, ended) = AsyncStream<Void>.makeStream()
  /// Asked between two pieces.
  let cancellation = Cancellation()

  /// Runs one. It fails with `stopping` when the server stops, or has stopped.
  func run<Value: Sendable>(_ body: () async throws(Problem) -> Value) async throws(Problem) -> Value {
    let isBegun = state.withLock { state in
      if !state.isStopping { state.count += 1 }
      return !state.isStopping
    }
    guard isBegun else { throw Self.stopping }
    defer { end() }
    do throws(Problem) { return try await body() } catch {
      throw cancellation.isSet ? Self.stopping : error
    }
  }

  static let stopping = Problem(.overloaded, "stopping", "The server is stopping.", retryAfter: 5)

  private func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      if state.count == 0 { state.buckets = [] }
      return state.count == 0 && state.isStopping
    }
    if isLast { ended.finish() }
  }

  /// Notes a bucket whose requests are to end with the server.
  func use(_ bucket: BackupBucket) {
    let isStopping = state.withLock { state in
      state.buckets.append(bucket.bucket)
      return state.isStopping
    }
    if isStopping { bucket.bucket.stop() }
  }

  /// Ends those under way, and allows no more. Returns when they have ended, or the task is cancelled.
  func stop() async {
    cancellation.set()
    let (buckets, isLast) = state.withLock { state in
      state.isStopping = true
      return (state.buckets, state.count == 0)
    }
    for bucket in buckets { bucket.stop() }
    if isLast { ended.finish() }
    for await _ in ends {}
  }
}
