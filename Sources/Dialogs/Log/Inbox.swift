import Synchronization

/// The committer's queue: everybody appends, one takes everything. Bounded by
/// `Limits.inboxPostsMax`; at the bound `append` refuses, and whoever asks is
/// told when there is room again (half empty, so that nobody oscillates).
final class Inbox: Sendable {
  private struct State {
    var posts: [Post] = []
    var waiting: [@Sendable () -> Void] = []
    var committing = false
    var closed = false
  }
  private let state = Mutex(State())

  enum Appended { case queued(wake: Bool), full, closed }

  /// `wake`: nobody is committing, so the caller must see to it.
  func append(_ post: Post) -> Appended {
    state.withLock { state in
      if state.closed { return .closed }
      if state.posts.count >= Limits.inboxPostsMax { return .full }
      state.posts.append(post)
      defer { state.committing = true }
      return .queued(wake: !state.committing)
    }
  }

  /// Queues a post of the committer's own, now or as soon as there is room; nothing
  /// once the inbox is closed. The committer is awake.
  func appendSurely(_ post: Post) {
    if case .full = append(post) { whenRoom { [self] in appendSurely(post) } }
  }

  var isClosed: Bool { state.withLock { $0.closed } }
  var isFull: Bool { state.withLock { $0.posts.count >= Limits.inboxPostsMax } }

  /// Runs `body` (on the committer's thread) once there is room; now if there is.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let now = state.withLock { state in
      if state.posts.count < Limits.inboxPostsMax / 2 { return true }
      state.waiting.append(body)
      return false
    }
    if now { body() }
  }

  /// The next batch; empty: the queue is, and the committer stops until woken.
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

  /// Nothing is accepted any more; what is queued will still be committed.
  func close() { state.withLock { $0.closed = true } }
}
