import Basics
import Testing

@testable import HTTPPort

struct ClientAddressTests {
  @Test(arguments: [
    ([0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6] as [UInt8], "2001:db8:1:2"),
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7], "192.0.2.7"),
  ])
  func networks(bytes: [UInt8], name: String) { #expect(ClientAddress.network(ofIPv6: bytes) == name) }

  /// Other parts read a network as the first half of an address (`SendingPolicy`).
  @Test func aNetworkIsTheBeginningOfItsAddresses() throws {
    let address = try #require(IPAddress("2001:db8:0:a0::1"))
    #expect(IPAddress(ClientAddress.network(address) + "::") == IPAddress("2001:db8:0:a0::"))
  }
}
