import Basics
import NIOCore

/// How many threads this process may run at once.
enum Threads {
  /// The cores of the process's CPU affinity, which NIO's own count ignores, but not more than a container's
  /// CPU quota, which NIO's count knows.
  static func available() -> Int {
    let affinity =
      (try? Files.read("/proc/self/status", bytesMax: 65_536))
      .flatMap { allowed(inStatus: String(decoding: $0, as: UTF8.self)) }
    return max(1, min(affinity ?? .max, System.coreCount))
  }

  /// Counts the bits of the line `Cpus_allowed:` of proc(5)'s status file: groups of hexadecimal digits.
  static func allowed(inStatus text: String) -> Int? {
    for line in text.split(separator: "\n") where line.hasPrefix("Cpus_allowed:") {
      let digits = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
      let count = digits.reduce(0) { $0 + $1.nonzeroBitCount }
      return count > 0 ? count : nil
    }
    return nil
  }
}
