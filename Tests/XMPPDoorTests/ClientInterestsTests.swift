import Testing

@testable import XMPPDoor

/// The nodes that clients are interested in.
@Suite struct ClientInterestsTests {
  /// They are kept in memory for each contact's client elsewhere.
  @Test func theNamesOfNodesHaveABound() {
    let long = (0..<8).map { "\($0)" + String(repeating: "n", count: 999) }
    let features = long.map { $0 + "+notify" } + ["tunes+notify", "tunes+notify", "urn:xmpp:ping", "+notify"]
    #expect(ClientCapabilities.interests(features) == Set(long.prefix(4) + ["tunes"]))
  }
}
