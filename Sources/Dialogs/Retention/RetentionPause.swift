/// The pause after a piece of retention, as a value. Theory:
///
/// A message that comes while a piece is written waits for it, and so does the one behind it: its sync writes the pages of
/// the piece, too. What counts is how many messages wait, so a piece is paid for by posts: beside others' the next one
/// waits for `Limits.retentionPostsPerPiece` of them, or until nobody has posted for a moment.
///
/// A server on which somebody always posts would remove less than is said. A run that is late, as it has lasted for a day,
/// only pauses for a multiple of the piece's duration.
struct RetentionPause: Hashable {
  private enum State: Hashable {
    case first, paused
    /// Beside others, after so many posts.
    case waiting(taken: Int)
    case over
  }
  private let duration: Duration
  private let begin: Int
  private let isLate: Bool
  private var state = State.first

  /// Creates the pause after a piece that took `duration`, before which the server had taken `posts`.
  init(after duration: Duration, since posts: Int, isLate: Bool) {
    self.duration = duration
    self.isLate = isLate
    begin = posts
  }

  /// Returns the time to sleep; `nil` if the next piece may begin.
  ///
  /// - Parameter taken: The posts that the server has taken by now, the piece's own included.
  mutating func next(taken: Int) -> Duration? {
    switch state {
    case .first:
      state = .paused
      return bounded(Limits.retentionPauseShare)
    case .paused:
      guard taken > begin + 1 else { return nil }
      state = isLate ? .over : .waiting(taken: taken)
      return isLate ? bounded(Limits.retentionPauseShareLate) : Limits.retentionQuiet
    case .waiting(let before):
      guard taken > before, taken < begin + Limits.retentionPostsPerPiece else { return nil }
      state = .waiting(taken: taken)
      return Limits.retentionQuiet
    case .over: return nil
    }
  }

  private func bounded(_ share: Int) -> Duration {
    min(max(duration * share, Limits.retentionPauseMin), Limits.retentionPauseMax)
  }
}
