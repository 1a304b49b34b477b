import Glibc

/// The time that posts take of the committer, measured as they are judged, and that of their effects. Theory:
///
/// A post counts as one stanza when it is read. Some take as long as hundreds, because of the data that their author has stored: a
/// change that looks at all of a user's rooms, or one that is refused after 5,000 items were read. So the author is charged for the
/// time as for a number of stanzas: nobody can take more of the committer's time by slow posts than by fast ones.
///
/// Other work on the machine must not count. The thread's own clock stands while the thread does not run, but reading it is a
/// system call. So it is read once per batch, and after a post that was slow by the wall clock. The wall-clock time of the posts
/// between two reads is subtracted, so a post is never charged for more than it took.
///
/// Effects are performed after the commit, when no post of the batch can wait any more. So the time of effects that look at many
/// people or rooms is charged in advance, by their number.
struct JudgingTime: Sendable {
  private let clocks: JudgingClocks
  /// Both times when the thread's clock was last read.
  private var read = (wall: Duration.zero, thread: Duration.zero)
  /// The beginning of the present post by the wall clock.
  private var began = Duration.zero
  /// The time that all posts so far have taken.
  private(set) var total = Duration.zero

  init(_ clocks: JudgingClocks) { self.clocks = clocks }

  mutating func batchBegins() {
    read = (clocks.wall(), clocks.thread())
    began = read.wall
  }

  /// Returns the number of stanzas to charge for the post that has just been judged, with its effects; 0 if it took less than
  /// `Limits.chargedTimeLeast`.
  ///
  /// - Parameter looks: The number of people and rooms that the effects look at, each for `Limits.lookTime`.
  mutating func postEnded(looks: Int) -> Int {
    let now = clocks.wall()
    let (before, elapsed) = (began - read.wall, now - began)
    began = now
    var taken = elapsed
    if elapsed >= Limits.chargedTimeLeast {
      let thread = clocks.thread()
      taken = max(.zero, min(elapsed, thread - read.thread - before))
      read = (now, thread)
    }
    if looks > 0 { taken += Limits.lookTime * looks }
    total += taken
    return Self.stanzas(taking: taken)
  }

  /// Returns the number of stanzas to charge for work that took this time of a thread, at most `Limits.chargedStanzasMax`; 0 if it
  /// took less than `Limits.chargedTimeLeast`.
  ///
  /// - Parameter each: The time that counts as one stanza.
  static func stanzas(taking time: Duration, each: Duration = Limits.stanzaTime) -> Int {
    time < Limits.chargedTimeLeast ? 0 : min(Int(time / each), Limits.chargedStanzasMax)
  }
}

/// The clocks of a `JudgingTime`, and of reads that are charged.
package struct JudgingClocks: Sendable {
  /// The monotonic wall clock.
  let wall: @Sendable () -> Duration
  /// The time for which the calling thread has run.
  let thread: @Sendable () -> Duration

  static let system = JudgingClocks(wall: { time(CLOCK_MONOTONIC) }, thread: { time(CLOCK_THREAD_CPUTIME_ID) })

  package init(wall: @escaping @Sendable () -> Duration, thread: @escaping @Sendable () -> Duration) {
    self.wall = wall
    self.thread = thread
  }

  private static func time(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

extension Intent {
  /// Whether the server or an operator has caused the work, not the author in whose name it is done.
  var isOfServer: Bool {
    switch self {
    case .work, .erase, .imported, .outbox, .endTyping, .refused: true
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call,
      .room, .node, .visit, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .signal, .confirm,
      .leave:
      false
    }
  }
}
