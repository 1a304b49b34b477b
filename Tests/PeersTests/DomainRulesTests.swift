import Peers
import Testing

/// Which domains are talked to.
@Suite struct DomainRulesTests {
  private func pattern(_ text: String) throws -> DomainPattern { try #require(DomainPattern(text)) }

  @Test func patternsAreDomainsOrAllBelowOne() throws {
    #expect(try pattern("Spam.Example").description == "spam.example")
    let below = try pattern("*.spam.example")
    #expect(below.matches("a.spam.example") && below.matches("a.b.spam.example"))
    #expect(!below.matches("spam.example") && !below.matches("nospam.example"))
    for text in ["", "*", "*.", "a@spam.example", "spam.*", "a b"] { #expect(DomainPattern(text) == nil, "\(text)") }
  }

  @Test func withoutRulesAllAreAdmitted() { #expect(DomainRules().admits("shakespeare.lit")) }

  @Test func deniedDomainsAreRefusedAndOnlyAllowedOnesAreAdmitted() throws {
    var rules = DomainRules()
    rules.denied = [try pattern("*.spam.example")]
    #expect(!rules.admits("a.spam.example") && rules.admits("spam.example"))
    rules.allowed = [try pattern("capulet.lit"), try pattern("a.spam.example")]
    #expect(rules.admits("capulet.lit") && !rules.admits("montague.lit") && !rules.admits("a.spam.example"))
  }

  @Test func anOperatorsRuleStandsBeforeTheConfiguration() throws {
    var rules = DomainRules()
    rules.denied = [try pattern("spam.example")]
    rules.runtime = [
      try pattern("spam.example"): true, try pattern("*.example"): false, try pattern("*.good.example"): true,
    ]
    #expect(rules.admits("spam.example") && !rules.admits("other.example") && rules.admits("a.good.example"))
    #expect(rules.admits("capulet.lit"))
  }
}
