import ServerMetrics
import Synchronization

/// The committer's queue: any thread appends, the committer takes everything. It is bounded by `Limits.inboxPostsMax`;
/// at the bound `append` refuses, and callers are told when there is room again (half empty, to avoid oscillation).
final class Inbox: Sendable {
  private struct State {
    var posts: [Post] = []
    var waiting: [@Sendable () -> Void] = []
    var committing = false
    var closed = false
  }
  private let state = Mutex(State())
  private let metrics: Metrics

  init(metrics: Metrics) { self.metrics = metrics }

  enum Appended { case queued(wake: Bool), full, closed }

  /// Appends a post. `wake` tells that the committer is idle, and the caller must wake it.
  func append(_ post: Post) -> Appended {
    state.withLock { state in
      if state.closed { return .closed }
      if state.posts.count >= Limits.inboxPostsMax {
        metrics.refusals.add(.inbox)
        return .full
      }
      state.posts.append(post)
      defer { state.committing = true }
      return .queued(wake: !state.committing)
    }
  }

  /// Queues a post of the committer's own, now or as soon as there is room; does nothing once the inbox is closed. The
  /// committer is awake.
  func appendSurely(_ post: Post) {
    if case .full = append(post) { whenRoom { [self] in appendSurely(post) } }
  }

  var isClosed: Bool { state.withLock { $0.closed } }
  var count: Int { state.withLock { $0.posts.count } }
  var isFull: Bool { state.withLock { $0.posts.count >= Limits.inboxPostsMax } }

  /// Runs `body` (on the committer's thread) once there is room; at once if there is.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let now = state.withLock { state in
      if state.posts.count < Limits.inboxPostsMax / 2 { return true }
      state.waiting.append(body)
      return false
    }
    if now { body() }
  }

  /// Returns the next batch; if it is empty, so is the queue, and the committer stops until woken.
  func take() -> [Post] {
    let (batch, waiting): ([Post], [@Sendable () -> Void]) = state.withLock { state in
      if state.posts.isEmpty {
        state.committing = false
        return ([], [])
      }
      let batch: [Post]
      if state.posts.count <= Limits.batchPostsMax {
        batch = state.posts
        state.posts = []
      } else {
        batch = Array(state.posts.prefix(Limits.batchPostsMax))
        state.posts.removeFirst(Limits.batchPostsMax)
      }
      guard state.posts.count < Limits.inboxPostsMax / 2 else { return (batch, []) }
      defer { state.waiting = [] }
      return (batch, state.waiting)
    }
    for body in waiting { body() }
    return batch
  }

  /// Closes the inbox: it accepts nothing more, but queued posts will still be committed.
  func close() { state.withLock { $0.closed = true } }
}
