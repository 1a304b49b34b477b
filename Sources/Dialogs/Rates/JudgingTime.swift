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
/// What takes less than a millisecond, but longer than messages do, is summed up by account, and charged in sums (`SummedTimes`): two
/// hundred changes of affiliations in a second take a tenth of the thread, and none of them is charged by itself.
///
/// Effects come when the batch is committed, and nothing of it can wait any more. So the time of those that look at many people or rooms
/// is counted before, by the number of these.
struct JudgingTime: Sendable {
  private let clocks: JudgingClocks
  /// Both times when the thread's clock was last read.
  private var read = (wall: Duration.zero, thread: Duration.zero)
  /// The beginning of the present post by the wall clock.
  private var began = Duration.zero
  /// The time that all posts so far have taken.
  private(set) var total = Duration.zero
  /// The time of the last post if it counts for the sum of its account (`SummedTimes`); otherwise zero.
  private(set) var summed = Duration.zero

  init(_ clocks: JudgingClocks) { self.clocks = clocks }

  mutating func batchBegins() {
    read = (clocks.wall(), clocks.thread())
    began = read.wall
  }

  /// Returns the stanzas that take as long as the post that has just been judged, with its effects; 0 if it takes less than
  /// `Limits.chargedTimeLeast`, of which `summed` has what is not free.
  ///
  /// - Parameter looks: The number of people and rooms that the effects look at, each for `Limits.lookTime`.
  mutating func postEnded(looks: Int) -> Int {
    let now = clocks.wall()
    let (before, elapsed) = (began - read.wall, now - began)
    began = now
    var taken = elapsed
    if elapsed >= Limits.summedTimeLeast {
      let thread = clocks.thread()
      taken = max(.zero, min(elapsed, thread - read.thread - before))
      read = (now, thread)
    }
    if looks > 0 { taken += Limits.lookTime * looks }
    total += taken
    let stanzas = Self.stanzas(taking: taken)
    summed = stanzas == 0 && taken >= Limits.summedTimeLeast ? taken : .zero
    return stanzas
  }

  /// Returns the number of stanzas to charge for work that took this time of a thread, at most `Limits.chargedStanzasMax`; 0 if it
  /// took less than `Limits.chargedTimeLeast`.
  ///
  /// - Parameter each: The time that counts as one stanza.
  static func stanzas(taking time: Duration, each: Duration = Limits.stanzaTime) -> Int {
    time < Limits.chargedTimeLeast ? 0 : min(Int(time / each), Limits.chargedStanzasMax)
  }
}

/// The time of each account's posts that are not charged by themselves (`Limits.summedTimeLeast`), as far as it is not charged yet.
struct SummedTimes {
  private var times: [SendingAccount: Duration] = [:]

  /// Adds the time of a post. Returns the stanzas for which the account is charged now: 0 while the sum is less than
  /// `Limits.chargedTimeLeast`.
  mutating func add(_ time: Duration, of account: SendingAccount) -> Int {
    let sum = times[account, default: .zero] + time
    let stanzas = JudgingTime.stanzas(taking: sum)
    if times[account] == nil, times.count >= Limits.summedAccountsMax { times = [:] }
    times[account] = sum - Limits.stanzaTime * stanzas
    return stanzas
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
