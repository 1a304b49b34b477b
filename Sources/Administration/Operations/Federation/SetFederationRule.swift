package import Basics
package import Dialogs
import HTTPPort
import Peers

/// Admits or refuses a domain elsewhere from now on, before the lists of the configuration.
package enum SetFederationRule: AdminOperation {
  package static let name = "federation.rule"
  package static let routes = [AdminRoute(.put, "/federation-rules/{domain}", .federationWrite)]

  package struct Input: Codable, Sendable {
    /// A domain, or `*.` and a domain for all below it.
    let domain: String
    let isAllowed: Bool
    let note: String?
    package init(domain: String, isAllowed: Bool, note: String?) {
      self.domain = domain
      self.isAllowed = isAllowed
      self.note = note
    }
  }

  package typealias Output = FederationRuleRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> FederationRuleRow {
    let name = try FederationRuleRow.pattern(input.domain)
    if context.parley.realms.contains(where: { $0.domain == name }) {
      throw Problem(.conflict, "domain-own", "\(name) is served here.", field: "domain")
    }
    if let note = input.note, note.utf8.count > Limits.userNoteBytesMax {
      throw Problem(.tooLarge, "note-too-long", "A note has at most \(Limits.userNoteBytesMax) bytes.", field: "note")
    }
    let rule = FederationRule(
      domain: name, isAllowed: input.isAllowed, note: input.note, changedAt: context.parley.clock.now)
    let isStored = try await context.parley.work(keepingCaches: true) { writer in
      let rules = try writer.federationRules()
      if rules.count >= AdminLimits.federationRulesMax, !rules.contains(where: { $0.domain == name }) { return false }
      try writer.put(rule)
      return true
    }
    guard isStored else {
      throw Problem(.tooLarge, "too-many-rules", "There are \(AdminLimits.federationRulesMax) rules already.")
    }
    try await context.federation?.rulesChanged()
    return FederationRuleRow(rule)
  }
}

/// A rule in the operators' view.
package struct FederationRuleRow: Codable, Hashable, Sendable {
  package let domain: String
  package let isAllowed: Bool
  package let note: String?
  package let changedAt: Timestamp

  init(_ rule: FederationRule) {
    domain = rule.domain
    isAllowed = rule.isAllowed
    note = rule.note
    changedAt = rule.changedAt
  }

  /// Returns a domain or a pattern in normal form.
  static func pattern(_ text: String) throws(Problem) -> String {
    if let pattern = DomainPattern(text) { return pattern.description }
    throw Problem(
      .malformed, "domain-malformed", "\(Line.safe(text)) is not a domain such as example.org or *.example.org.",
      field: "domain")
  }

  static func matches(_ pattern: String, _ domain: String) -> Bool {
    DomainPattern(pattern)?.matches(domain) ?? false
  }
}
