import Glibc
import Synchronization

/// Free ports of the loopback address, each given out once in this process. Below the range from which the system
/// takes ports for connections (net.ipv4.ip_local_port_range begins at 32768), so that none is taken meanwhile.
enum FreePorts {
  private static let range = 20_000..<32_000
  private static let next = Mutex(Int.random(in: range))

  static func take() -> Int {
    next.withLock { next in
      for _ in range {
        next += 1
        if next >= range.upperBound { next = range.lowerBound }
        if isFree(next) { return next }
      }
      preconditionFailure("no port is free")
    }
  }

  private static func isFree(_ port: Int) -> Bool {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard file >= 0 else { return false }
    defer { close(file) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(truncatingIfNeeded: port).bigEndian)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
