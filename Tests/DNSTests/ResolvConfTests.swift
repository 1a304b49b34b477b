import NIOCore
import Testing

@testable import DNS

/// resolv.conf(5).
@Suite struct ResolvConfTests {
  private static func hosts(_ text: String) -> [String] { ResolvConf(text).servers.map { $0.ipAddress ?? "" } }

  @Test func aUsualFile() {
    let settings = ResolvConf(
      """
      # Made by hand
      ; nameserver 192.0.2.9
      search example.org
      nameserver 192.0.2.1
      nameserver\t2001:db8::53
      options ndots:2 timeout:1 attempts:4 edns0 trust-ad
      """)
    #expect(settings.servers.map(\.ipAddress) == ["192.0.2.1", "2001:db8::53"])
    #expect(settings.servers.allSatisfy { $0.port == 53 })
    #expect(settings.timeout == .seconds(1))
    #expect(settings.attempts == 4)
    #expect(settings.trustsAuthenticity)
  }

  @Test(arguments: [
    "", "nameserver", "nameserver localhost", "nameserver 1.2.3", "nameservers 192.0.2.1", "\u{0}\u{ff}",
  ])
  func withoutServersThisMachineIsAsked(_ text: String) {
    #expect(Self.hosts(text) == ["127.0.0.1"])
    #expect(!ResolvConf(text).trustsAuthenticity)
  }

  @Test func threeServersAreUsed() {
    let text = (1...5).map { "nameserver 192.0.2.\($0)" }.joined(separator: "\n")
    #expect(Self.hosts(text) == ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
  }

  @Test func anAddressMayNameItsInterface() {
    #expect(Self.hosts("nameserver fe80::1%lo") == ["fe80::1"])
    #expect(Self.hosts("nameserver 127.0.0.2%lo") == ["127.0.0.1"])
    #expect(Self.hosts("nameserver %lo") == ["127.0.0.1"])
  }

  @Test(arguments: [
    ("timeout:0", 2, 3), ("timeout:-1", 2, 3), ("timeout:99999999999", 30, 3), ("timeout", 2, 3), ("timeout:x", 2, 3),
    ("attempts:0", 2, 3), ("attempts:9223372036854775807", 2, 5), ("attempts:1", 2, 1), ("trust-ad:1", 2, 3),
  ]) func options(_ option: String, _ timeout: Int64, _ attempts: Int) {
    let settings = ResolvConf("options \(option)")
    #expect(settings.timeout == .seconds(timeout))
    #expect(settings.attempts == attempts)
    #expect(!settings.trustsAuthenticity)
  }
}
