import Testing
import XMLStream

@testable import XMPPDoor

/// The stanzas as which a request counts because of its addresses.
@Suite struct AddressCostTests {
  private func cost(of addresses: [String]) throws -> Int {
    let items = addresses.map { "<item jid='\($0)'/>" }.joined()
    return AddressCost.stanzas(
      of: try stanza("<iq xmlns='jabber:client'><block xmlns='urn:xmpp:blocking'>\(items)</block></iq>"))
  }

  @Test func addressesOutsideASCIICountByTheirBytes() throws {
    #expect(try cost(of: (0..<1_000).map { "romeo\($0)@montague.example" }) == 0)
    let long = String(repeating: "\u{436}", count: 256)
    #expect(try cost(of: [long + "@montague.example"]) == 0, "a short request counts as itself")
    #expect(try cost(of: (10..<30).map { "\(long)\($0)@montague.example" }) == 20)
    // References are decoded.
    let references = String(repeating: "&#x436;", count: 256)
    #expect(try cost(of: (10..<30).map { "\(references)\($0)@montague.example" }) == 20)
  }

  @Test func encodedLabelsOfDomainsCount() throws {
    let names = (100..<200).map { "romeo@\($0.isMultiple(of: 2) ? "xn--" : "Xn--")bcher\($0)-kva.example" }
    #expect(try cost(of: names) == 100 * DoorLimits.encodedLabelBytes / DoorLimits.addressBytesPerStanza)
    #expect(try cost(of: names.map { $0.replacing("--", with: "-") }) == 0)
  }
}
