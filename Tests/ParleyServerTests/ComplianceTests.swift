import Testing

@testable import parley

/// The rows of XEP-0479 against what a server shows; that a server shows all of it is checked against a running one
/// (Tests/Clients/compliance.py).
@Suite struct ComplianceTests {
  @Test func aServerThatShowsNothingMeetsNothing() {
    let rows = ComplianceSuites.rows(ProbeFacts())
    #expect(rows.count == ComplianceSuites.all.count)
    #expect(!rows.contains { $0.isMet })
    #expect(rows.allSatisfy { $0.remedy?.isEmpty == false })
  }

  @Test func eachRowNeedsWhatItNames() {
    var facts = ProbeFacts()
    facts.account = ["urn:xmpp:mam:2", "urn:xmpp:push:0"]
    facts.transports = ["jabber:component:accept"]
    #expect(
      ComplianceSuites.rows(facts).filter(\.isMet).map(\.specifications) == ["XEP-0114", "XEP-0313", "XEP-0357"])
  }
}
