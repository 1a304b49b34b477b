import Glibc

/// The time that posts take of the committer, measured as they are judged, and that of their effects. Theory:
///
/// A post counts as one stanza when it is read. Some take as long as hundreds, by what their author has stored: a change that looks
/// at all of a user's rooms, or one that is refused after 5,000 items were read. So the author is charged for the time, as for so many
/// stanzas, and waits for as long as if these had been sent: nobody can take more of the committer by dear posts than by cheap ones.
///
/// The work of others on the machine must not count. A thread that does not run takes none of its own time, but to read that
/// time is a system call. So it is read once per batch, and after a post that has taken long by the wall clock. What the posts
/// between two reads have taken by the wall clock is subtracted: a post is never charged for more than it took.
///
/// Effects come when the batch is committed, and nothing of it can wait any more. So the time of those that look at many people or rooms
/// is counted before, by the number of these.
struct JudgingTime: Sendable {
  private let clocks: JudgingClocks
  /// Both times at the last read of the thread's.
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

  /// Returns the stanzas that take as long as the post that has just been judged, with its effects; 0 if it takes less than
  /// `Limits.chargedTimeLeast`.
  ///
  /// - Parameter looks: The people and rooms at which the effects look, each for `Limits.lookTime`.
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

  /// Returns the stanzas for which something is charged that has taken so much of a thread, at most `Limits.chargedStanzasMax`; 0 if it
  /// has taken less than `Limits.chargedTimeLeast`.
  ///
  /// - Parameter each: The time that counts as one stanza.
  static func stanzas(taking time: Duration, each: Duration = Limits.stanzaTime) -> Int {
    time < Limits.chargedTimeLeast ? 0 : min(Int(time / each), Limits.chargedStanzasMax)
  }
}

/// The clocks of a `JudgingTime`, and of reads that are charged.
package struct JudgingClocks: Sendable {
  /// The wall clock, which never goes back.
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
  /// Whether it is the server's own work in the name of its author, who does not choose it, or that of an operator.
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
