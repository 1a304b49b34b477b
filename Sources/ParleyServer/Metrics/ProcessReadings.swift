import Basics
import Glibc
import ServerMetrics

/// The system's numbers of this process, and the sizes of the database's files.
enum ProcessReadings {
  static func read(into readings: inout Readings, _ metrics: Metrics, database: String) {
    if let bytes = residentBytes { readings.set(metrics.residentBytes, bytes) }
    var time = timespec()
    if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
      readings.set(metrics.cpuSeconds, Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
    if let count = openDescriptors { readings.set(metrics.openDescriptors, count) }
    var limits = rlimit()
    if getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits) == 0 {
      readings.set(metrics.descriptorsMax, limits.rlim_cur)
    }
    if let bytes = size(of: database) { readings.set(metrics.databaseBytes, bytes) }
    if let bytes = size(of: database + "-wal") { readings.set(metrics.walBytes, bytes) }
  }

  /// proc(5): the second number of `statm` is the resident pages.
  private static var residentBytes: Int? {
    guard let bytes = try? Files.read("/proc/self/statm", bytesMax: 4_096) else { return nil }
    let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    return numbers.count > 1 ? Int(numbers[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }

  /// Linux 6.2 tells the number as the size of the folder; before that its entries are counted.
  private static var openDescriptors: Int? {
    if let size = size(of: "/proc/self/fd"), size > 0 { return size }
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // The folder itself, its parent, and the descriptor that reads it.
    return max(0, count - 3)
  }

  /// The database's files must not be opened: closing them would end the engine's locks (sqlite.org/howtocorrupt.html
  /// 2.2).
  private static func size(of path: String) -> Int? {
    Files.status(path).map { Int($0.size) }
  }
}
