import Basics
public import NIOCore

/// The settings of the system's resolver, as resolv.conf(5) describes its file. `search` and `ndots` are of no use, since
/// only whole names are looked up; `edns0` neither, since EDNS is always used.
public struct ResolvConf: Hashable, Sendable {
  /// At most three; the resolver of this machine where the file names none.
  public internal(set) var servers: [SocketAddress] = []
  /// The time of the first attempt.
  public internal(set) var timeout: TimeAmount
  public internal(set) var attempts: Int
  /// Whether the operator vouches for what the servers have validated, and for the network between (`trust-ad`).
  public internal(set) var trustsAuthenticity = false

  /// Makes settings for given servers.
  public init(servers: [SocketAddress]) {
    self.servers = Array(servers.prefix(DNSLimits.serversMax))
    timeout = DNSLimits.timeout
    attempts = DNSLimits.attempts
  }

  /// Reads a file's text; lines that are not understood are passed over, as by the system.
  public init(_ text: String) {
    self.init(servers: [])
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") && !line.hasPrefix(";") {
      let words = line.split { $0 == " " || $0 == "\t" }
      switch words.first {
      case "nameserver":
        if words.count > 1, servers.count < DNSLimits.serversMax, let server = Self.server(String(words[1])) {
          servers.append(server)
        }
      case "options": for word in words.dropFirst() { read(option: word) }
      default: break
      }
    }
    if servers.isEmpty, let local = try? SocketAddress(ipAddress: "127.0.0.1", port: 53) { servers = [local] }
  }

  private mutating func read(option: Substring) {
    let parts = option.split(separator: ":", maxSplits: 1)
    let number = parts.count == 2 ? Int64(parts[1]) : nil
    switch (parts.first, number) {
    case ("timeout", let seconds?) where seconds > 0:
      timeout = min(.seconds(min(seconds, 1_000)), DNSLimits.timeoutMax)
    case ("attempts", let count?) where count > 0: attempts = Int(min(count, Int64(DNSLimits.attemptsMax)))
    case ("trust-ad", nil): trustsAuthenticity = true
    default: break
    }
  }

  /// Parses an address, also one with the interface that it belongs to: `fe80::1%eth0`.
  private static func server(_ text: String) -> SocketAddress? {
    guard let plain = text.split(separator: "%", maxSplits: 1).first, let address = IPAddress(String(plain)) else {
      return nil
    }
    guard plain.count < text.count else { return try? SocketAddress(ipAddress: address.description, port: 53) }
    // An address in numbers is not looked up.
    return address.isIPv6 ? try? SocketAddress.makeAddressResolvingHost(text, port: 53) : nil
  }
}
