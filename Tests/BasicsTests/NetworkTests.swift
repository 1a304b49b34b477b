import Testing

@testable import Basics

@Suite struct NetworkTests {
  @Test(arguments: [
    ("8.8.8.8", true), ("10.1.2.3", false), ("100.64.0.1", false), ("172.31.255.255", false), ("172.32.0.1", true),
    ("192.168.0.1", false), ("169.254.169.254", false), ("0.0.0.0", false), ("224.0.0.1", false),
    ("2606:4700::1111", true), ("::1", false), ("fe80::1", false), ("fd00::1", false), ("2002:a00:1::", false),
    ("64:ff9b::a00:1", false), ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("2001:db8::1", false),
  ]) func publicAddresses(_ text: String, _ isPublic: Bool) throws {
    let address = try #require(IPAddress(text))
    #expect(PublicAddresses().allows(address) == isPublic)
  }

  @Test(arguments: [
    ("http://127.0.0.1:9000/hook", false), ("https://10.1.2.3", false), ("https://[::1]:8443/a", false),
    ("https://[::ffff:10.0.0.1]/", false), ("http://127.1/", false), ("http://2130706433?a", false),
    ("http://0x7f.0.0.1#b", false), ("https://8.8.8.8/", true), ("https://[2606:4700::1111]/", true),
    ("https://10.0.0.7:1/", true), ("http://localhost:9000/hook", true), ("https://a.example/127.0.0.1", true),
    ("mailto:a@b", true),
  ]) func urlsWithAddresses(_ url: String, _ isAllowed: Bool) throws {
    let addresses = PublicAddresses(exceptions: [try #require(Network("10.0.0.7"))])
    #expect(addresses.allows(url: url) == isAllowed)
  }

  @Test func networksAreWritten() throws {
    #expect(Network("10.0.0.0/33") == nil)
    #expect(Network("10.0.0/8") == nil)
    #expect(Network("localhost") == nil)
    #expect(Network("10.0.0.0/-1") == nil)
    let network = try #require(Network("10.32.0.0/11"))
    #expect(network.contains(try #require(IPAddress("10.63.255.255"))))
    #expect(!network.contains(try #require(IPAddress("10.64.0.0"))))
    #expect(!network.contains(try #require(IPAddress("10.31.255.255"))))
  }

  /// RFC 5952 4 and 5; RFC 4291 2.2.
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::FFFF:192.0.2.1", "::ffff:192.0.2.1"),
    ("::", "::"),
  ]) func addressesAreWritten(_ text: String, _ written: String) {
    #expect(IPAddress(text)?.description == written)
  }

  @Test(arguments: [
    "", "192.0.2", "192.0.2.256", "fe80::1%lo", "[::1]", "localhost", "1.2.3.4.5", "192.0.2.1\u{0}", "::1\u{0}.example",
    "192.0.2.1\r\n", " 192.0.2.1", "192.0.2.1\u{301}", "١٩٢.0.2.1", "0x7f.0.0.1", "0177.0.0.1",
  ])
  func noAddress(_ text: String) { #expect(IPAddress(text) == nil) }

  @Test(arguments: [
    ("127.0.0.53", true), ("128.0.0.1", false), ("::1", true), ("::", false), ("::ffff:127.0.0.1", true),
    ("2001:db8::1", false),
  ]) func loopback(_ text: String, _ isLoopback: Bool) { #expect(IPAddress(text)?.isLoopback == isLoopback) }

  @Test func anAddressHasFourOrSixteenBytes() {
    for count in 0...20 {
      #expect((IPAddress(bytes: [UInt8](repeating: 1, count: count)) != nil) == (count == 4 || count == 16))
    }
  }
}
