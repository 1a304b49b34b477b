import Testing

@testable import Dialogs

/// The pauses between the pieces of retention.
@Suite struct RetentionPauseTests {
  private let piece = Duration.milliseconds(2)
  private let share = Limits.retentionPauseShare

  /// The sleeps of a pause, with the posts that were taken before each.
  private func sleeps(_ taken: [Int], after duration: Duration? = nil, isLate: Bool = false) -> [Duration?] {
    var pause = RetentionPause(after: duration ?? piece, since: 100, isLate: isLate)
    return taken.map { pause.next(taken: $0) }
  }

  @Test func whereNobodyPostsThePauseIsAMultipleOfThePiece() {
    #expect(sleeps([101, 101, 101]) == [max(piece * share, .milliseconds(10)), nil, nil])
    #expect(sleeps([101, 101], after: .zero) == [.milliseconds(10), nil])
    #expect(sleeps([101, 101], after: .seconds(100)) == [.seconds(5), nil])
  }

  @Test func besideOthersItLastsForSoManyPostsOrUntilNobodyPosts() {
    let (first, quiet, posts) = (
      max(piece * share, .milliseconds(10)), Limits.retentionQuiet, Limits.retentionPostsPerPiece
    )
    #expect(sleeps([101, 102, 103, 99 + posts, 100 + posts]) == [first, quiet, quiet, quiet, nil])
    #expect(sleeps([101, 102, 103, 103]) == [first, quiet, quiet, nil])
  }

  @Test func aRunThatIsLateWaitsForNobody() {
    let first = max(piece * share, .milliseconds(10))
    #expect(sleeps([101, 101], isLate: true) == [first, nil])
    #expect(sleeps([101, 102, 200], isLate: true) == [first, piece * Limits.retentionPauseShareLate, nil])
  }
}
