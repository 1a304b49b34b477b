import Glibc

/// The memory that this process may use: that of the machine, or less where a container or a service unit has a limit, or the
/// process itself (`ulimit -d`, setrlimit(2)).
package enum AllowedMemory {
  package static var bytes: Int {
    let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    var data = rlimit()
    let own = getrlimit(Int32(RLIMIT_DATA.rawValue), &data) == 0 ? Int(clamping: data.rlim_cur) : .max
    let groups = text("/proc/self/cgroup")
    return least(machine: min(machine, own), groups: groups) { text("/sys/fs/cgroup\($0)/memory.max") }
  }

  /// Returns the least of the machine's memory and the limits of control groups (cgroups(7), version 2: a group has no more
  /// than the groups above it).
  ///
  /// - Parameters:
  ///   - machine: The bytes of the machine, or of the process's own limit.
  ///   - groups: The text of `/proc/self/cgroup`; the line of version 2 is `0::` and the path of the group.
  ///   - limit: Returns the text of `memory.max` of the group at a path: bytes, or `max`.
  static func least(machine: Int, groups: String?, limit: (String) -> String?) -> Int {
    let line = (groups ?? "").split(separator: "\n").first { $0.hasPrefix("0::") }
    var group = line?.dropFirst(3) ?? ""
    var least = machine
    while true {
      if let bytes = limit(String(group)).flatMap({ Int($0.trimmed) }) { least = min(least, bytes) }
      guard let slash = group.lastIndex(of: "/") else { return least }
      group = group[..<slash]
    }
  }

  private static func text(_ path: String) -> String? {
    (try? Files.read(path, bytesMax: 65_536)).map { String(decoding: $0, as: UTF8.self) }
  }
}
