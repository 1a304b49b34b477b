import Glibc

/// An address of a host: IPv4 or IPv6, without a zone.
public struct IPAddress: Hashable, Sendable {
  /// The 4 or 16 bytes, in network order.
  public let bytes: [UInt8]

  /// Fails for other numbers of bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  /// Parses `192.0.2.1` or `2001:db8::1`; `nil` for anything else.
  public init?(_ text: String) {
    // C would read a text up to its first NUL, and whatever follows would count for nothing.
    guard !text.utf8.contains(0) else { return nil }
    var four = in_addr()
    var sixteen = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
      bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
    } else {
      return nil
    }
  }

  /// Parses the host of a URL, without brackets, as HTTP clients do: also the numbers that C reads as IPv4, such as `127.1`
  /// (inet_aton(3)); `nil` for a name.
  init?(host: String) {
    var four = in_addr()
    guard !host.utf8.contains(0), inet_aton(host, &four) != 0 else {
      self.init(host)
      return
    }
    self.init(bytes: withUnsafeBytes(of: &four) { Array($0) })
  }

  public var isIPv6: Bool { bytes.count == 16 }

  /// Whether the address is of this machine alone (RFC 1122 3.2.1.3, RFC 4291 2.5.3).
  public var isLoopback: Bool {
    if let wrapped = mappedIPv4 { return wrapped.isLoopback }
    return isIPv6 ? bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 } : bytes[0] == 127
  }

  /// The IPv4 address that `::ffff:a.b.c.d` stands for (RFC 4291 2.5.5.2).
  public var mappedIPv4: IPAddress? {
    guard isIPv6, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff else { return nil }
    return IPAddress(bytes: bytes[12...])
  }
}

/// The written form is that of RFC 5952.
extension IPAddress: CustomStringConvertible {
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let size = socklen_t(text.count)
    guard inet_ntop(isIPv6 ? AF_INET6 : AF_INET, bytes, &text, size) != nil else { return "" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
