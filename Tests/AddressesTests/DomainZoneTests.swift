import Addresses
import Testing

@Suite struct DomainZoneTests {
  @Test(arguments: [
    ("a.b.flood.example", "flood.example"), ("flood.example", "flood.example"), ("localhost", "localhost"),
    ("shop.co.uk", "co.uk"), ("a.bücher.example", "bücher.example"), ("192.0.2.1", "192.0.2.1"),
    ("[2001:db8::192.0.2.1]", "[2001:db8::192.0.2.1]"),
  ])
  func zonesAreTheLastTwoLabels(domain: String, zone: String) {
    #expect(DomainZone.of(domain) == zone)
  }
}
