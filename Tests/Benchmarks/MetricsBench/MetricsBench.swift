import Glibc
import ServerMetrics

/// The cost of counting: what is counted for one chat message between two XMPP clients, and an exposition of everything.
/// Counting cannot be turned off, so its share of a message is this by the CPU time of one (`chat`).
///
///     metrics-bench [rounds]
///
/// A commit has one message here, the worst case: a busy server counts one commit for many messages.
@main
enum MetricsBench {
  static func main() {
    let rounds = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 1_000_000 : 1_000_000
    let metrics = Metrics()
    report("one chat message", rounds) {
      metrics.stanzas.add(.messageIn)
      metrics.messages.add(.xmpp)
      metrics.stanzas.add(.messageOut)
    }
    report("one commit", rounds) {
      let start = ContinuousClock.now
      metrics.syncSeconds.observe(since: start)
      metrics.commitSeconds.observe(since: start)
      metrics.commitPosts.observe(1)
    }
    report("one exposition", max(1, rounds / 10_000)) { _ = metrics.exposition(Readings()) }
  }

  private static func report(_ name: String, _ rounds: Int, _ body: () -> Void) {
    body()
    let before = cpuNanoseconds()
    for _ in 0..<rounds { body() }
    print("\(name): \((cpuNanoseconds() - before) / Int64(rounds)) ns of CPU")
  }

  private static func cpuNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
