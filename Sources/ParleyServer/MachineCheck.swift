import Basics
import CTimex
import Glibc
import ServerConfiguration
import XMPPDoor

/// The findings about what the machine gives the server: the time, the disk, descriptors.
enum MachineCheck {
  typealias Step = ReachabilityCheck.Step

  static func steps(_ settings: Settings) -> [Step] {
    [clock, space(settings.data), sync(settings.data), descriptors].compactMap { $0 }
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

  /// The server raises its limit to the hard one, which a server of the same unit or shell has as well.
  private static var descriptors: Step? {
    var limits = rlimit()
    guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return nil }
    let text = "\(limits.rlim_max) files may be open here; each connection is one"
    if limits.rlim_max >= ServerLimits.descriptorsLow { return Step("descriptors", .pass, text) }
    return Step("descriptors", .warn, text, advice: "raise the limit (LimitNOFILE= of systemd, ulimit -n)")
  }
}
