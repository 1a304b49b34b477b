import Synchronization

/// The times at which pieces of the full-text index may be written. Theory:
///
/// Posts wait while a piece is written, so pieces back to back would delay all of them for as long as the index is behind. Behind a
/// piece that was not the last, the committer is left to others for a multiple of the piece's duration. All searches that wait for
/// the index share this pace: each gets a time of its own, so that many of them write no more pieces than one. While the index is
/// up to date, no search waits.
final class IndexPace: Sendable {
  private struct State {
    /// The time from the beginning of a piece to that of the next one, by the last piece; zero while the index is up to date.
    var step = Duration.zero
    /// The time at which the next piece may begin.
    var free: ContinuousClock.Instant?
  }
  private let state = Mutex(State())

  /// Returns the time at which the caller may write a piece, and keeps it for the caller.
  func next(now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    state.withLock { state in
      let time = max(now, state.free ?? now)
      state.free = time + state.step
      return time
    }
  }

  /// Notes that a piece has been written.
  func wrote(in duration: Duration, isMore: Bool, now: ContinuousClock.Instant) {
    state.withLock { state in
      guard isMore else {
        // The times that others wait for are not needed any more.
        state = State()
        return
      }
      let pause = min(duration * Limits.indexPauseShare, Limits.indexPauseMax)
      state.step = duration + pause
      state.free = max(now + pause, state.free ?? now)
    }
  }
}
