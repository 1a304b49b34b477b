import Basics
import NIOCore

/// The number of threads that the process may run in parallel.
enum Threads {
  /// Returns the number of cores in the process's CPU affinity, which NIO's count ignores, but at most a container's
  /// CPU quota, which NIO's count respects.
  static func available() -> Int {
    let affinity =
      (try? Files.read("/proc/self/status", bytesMax: 65_536))
      .flatMap { allowed(inStatus: String(decoding: $0, as: UTF8.self)) }
    return max(1, min(affinity ?? .max, System.coreCount))
  }

  /// Counts the bits in the line `Cpus_allowed:` of the status file of proc(5), groups of hexadecimal digits.
  static func allowed(inStatus text: String) -> Int? {
    for line in text.split(separator: "\n") where line.hasPrefix("Cpus_allowed:") {
      let digits = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
      let count = digits.reduce(0) { $0 + $1.nonzeroBitCount }
      return count > 0 ? count : nil
    }
    return nil
  }
}
