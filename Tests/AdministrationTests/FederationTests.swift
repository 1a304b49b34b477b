import Basics
import Dialogs
import Peers
import ServerFixtures
import Testing

@testable import Administration

/// The operator's rules for domains elsewhere, and what is answered where nothing federates.
@Suite struct FederationTests {
  private func rule(_ domain: String, _ isAllowed: Bool, note: String? = nil) -> SetFederationRule.Input {
    SetFederationRule.Input(domain: domain, isAllowed: isAllowed, note: note)
  }

  @Test func rulesAreKeptInNormalForm() async throws {
    try await withCore { _, context, _ in
      _ = try await SetFederationRule.perform(rule("Spam.Example", false, note: "a wave"), in: context)
      _ = try await SetFederationRule.perform(rule("*.spam.example", false), in: context)
      _ = try await SetFederationRule.perform(rule("spam.example", true), in: context)
      let rules = try await ListFederationRules.perform(Empty(), in: context).items
      #expect(rules.map(\.domain) == ["*.spam.example", "spam.example"])
      #expect(rules.map(\.isAllowed) == [false, true])
      #expect(rules.map(\.note) == [nil, nil])
      _ = try await RemoveFederationRule.perform(FederationInput(domain: "SPAM.example"), in: context)
      let left = try await ListFederationRules.perform(Empty(), in: context).items
      #expect(left.map(\.domain) == ["*.spam.example"])
    }
  }

  @Test(arguments: [
    ("juliet@example.net", "domain-malformed"), ("*.", "domain-malformed"), ("", "domain-malformed"),
    ("localhost", "domain-own"),
  ])
  func whatIsNoDomainElsewhereIsRefused(domain: String, code: String) async throws {
    try await withCore { _, context, _ in
      let problem = await #expect(throws: Problem.self) {
        _ = try await SetFederationRule.perform(rule(domain, false), in: context)
      }
      #expect(problem?.code == code)
    }
  }

  @Test func aRuleThatIsNotThereCannotBeRemoved() async throws {
    try await withCore { _, context, _ in
      let problem = await #expect(throws: Problem.self) {
        _ = try await RemoveFederationRule.perform(FederationInput(domain: "example.net"), in: context)
      }
      #expect(problem?.code == "rule-unknown")
    }
  }

  @Test func aDomainIsShownWithTheRulesThatNameIt() async throws {
    try await withCore { _, context, _ in
      _ = try await SetFederationRule.perform(rule("*.example.net", false, note: "all of it"), in: context)
      _ = try await SetFederationRule.perform(rule("example.org", true), in: context)
      let shown = try await ShowFederation.perform(FederationInput(domain: "chat.example.net"), in: context)
      #expect(shown.rules.map(\.domain) == ["*.example.net"])
      #expect(shown.status == nil && shown.links == [])
      #expect(shown.lines.count == 3 && shown.lines[1].hasSuffix(": all of it"))
    }
  }

  @Test func nothingIsTriedWhereNothingFederates() async throws {
    try await withCore { _, context, _ in
      let input = FederationInput(domain: "example.net")
      let close = await #expect(throws: Problem.self) { _ = try await CloseFederation.perform(input, in: context) }
      let retry = await #expect(throws: Problem.self) { _ = try await RetryFederation.perform(input, in: context) }
      let test = await #expect(throws: Problem.self) {
        _ = try await TestFederation.perform(.init(domain: "example.net", from: nil), in: context)
      }
      #expect([close?.code, retry?.code, test?.code] == Array(repeating: "federation-absent", count: 3))
      let links = try await ListFederation.perform(.init(after: nil, limit: 50), in: context).items
      let queue = try await ListFederationQueue.perform(
        .init(domain: "example.net", after: nil, limit: 50), in: context
      ).items
      let dropped = try await DropFederationQueue.perform(input, in: context).count
      #expect(links == [] && queue == [] && dropped == 0)
    }
  }
}
