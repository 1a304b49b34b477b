import Administration
import Basics
import CTimex
import Glibc
import Peers
import ServerConfiguration

/// The findings about what the machine gives the server: the time, the disk, descriptors.
enum MachineCheck {
  typealias Step = ReachabilityCheck.Step

  static func steps(_ settings: Settings) async -> [Step] {
    [clock, space(settings.data), sync(settings.data), await descriptors(settings)].compactMap { $0 }
  }

  /// adjtimex(2): whether something keeps the clock right.
  private static var clock: Step? {
    var state = timex()
    let result = adjtimex(&state)
    guard result >= 0 else { return nil }
    if result != TIME_ERROR, state.status & STA_UNSYNC == 0 { return Step("clock", .pass, "it is synchronised") }
    return Step(
      "clock", .warn, "nothing says that the clock is synchronised",
      advice: "run chrony or systemd-timesyncd: certificates, second factors and tokens need the time")
  }

  private static func space(_ data: String) -> Step {
    var state = statvfs()
    guard statvfs(data, &state) == 0, state.f_blocks > 0 else {
      return Step("disk space", .fail, "\(data): \(Files.reason(errno))", advice: "is data the right folder?")
    }
    let free = UInt64(state.f_bavail) * UInt64(state.f_frsize)
    let percent = Int(state.f_bavail * 100 / state.f_blocks)
    let text = "\(free / 1_048_576) MiB are free, \(percent)% of the disk of \(data)"
    let advice = "free some: without space no message is taken"
    if free < ServerLimits.diskFreeLeast || percent < 3 { return Step("disk space", .fail, text, advice: advice) }
    if free < ServerLimits.diskFreeLow || percent < 10 { return Step("disk space", .warn, text, advice: advice) }
    return Step("disk space", .pass, text)
  }

  /// The time of one sync, the median of some, since each commit waits for one.
  private static func sync(_ data: String) -> Step {
    let path = "\(data)/check.\(getpid()).new"
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      return Step(
        "disk sync", .warn, "it cannot be tried in \(data): \(Files.reason(errno))",
        advice: "run this as the server's user")
    }
    defer {
      close(file)
      unlink(path)
    }
    var times: [Int64] = []
    let block = [UInt8](repeating: 0x50, count: 4_096)
    for _ in 0..<ServerLimits.syncsTried {
      let began = ContinuousClock.now
      guard Files.writeAll(block, to: file), fdatasync(file) == 0 else {
        return Step("disk sync", .fail, "\(data): \(Files.reason(errno))")
      }
      let time = (ContinuousClock.now - began).components
      times.append(time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000)
    }
    let median = times.sorted()[times.count / 2]
    let text = "a sync takes \(median / 1_000).\(median % 1_000 / 100) ms"
    let advice = "use a local SSD: nobody's message is acknowledged before a sync"
    if median > 250_000 { return Step("disk sync", .fail, text, advice: advice) }
    if median > 30_000 { return Step("disk sync", .warn, text, advice: advice) }
    return Step("disk sync", .pass, text)
  }

  /// Checks the descriptors by the running server's own account; without one, by the limit that a server of the same unit
  /// or shell would have, which raises its own to the hard one.
  private static func descriptors(_ settings: Settings) async -> Step? {
    let advice = "raise the limit (LimitNOFILE= of systemd, ulimit -n); each connection is one"
    guard let (open, most) = await told(settings) else {
      var limits = rlimit()
      guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return nil }
      let text = "\(limits.rlim_max) files may be open here; no server answers that would tell its own limit"
      return limits.rlim_max >= UInt(ServerLimits.descriptorsLow)
        ? Step("descriptors", .pass, text) : Step("descriptors", .warn, text, advice: advice)
    }
    let text = "the server has \(Int(open)) files open, of \(Int(most)) that it may have"
    let isScarce = most < Double(ServerLimits.descriptorsLow) || open > most * ServerLimits.descriptorsUsedMost
    return isScarce ? Step("descriptors", .warn, text, advice: advice) : Step("descriptors", .pass, text)
  }

  /// Returns the descriptors that the running server has open, and may have; nil if none answers.
  private static func told(_ settings: Settings) async -> (open: Double, most: Double)? {
    guard let server = await AdminConnection.server(settings),
      let stats = try? await server.call(ServerStats.self, Empty())
    else { return nil }
    await server.close()
    func number(_ name: String) -> Double? { stats.metrics.first { $0.name == name }?.series.first?.value }
    guard let open = number("process_open_fds"), let most = number("process_max_fds") else { return nil }
    return (open, most)
  }
}
