import Basics
package import Dialogs
import HTTPPort
package import Peers

/// Shows a domain elsewhere: whether it is admitted, its links, and why the last stream was refused.
package enum ShowFederation: AdminOperation {
  package static let name = "federation.show"
  package static let routes = [AdminRoute(.get, "/federation/{domain}", .federationRead)]

  package typealias Input = FederationInput

  package struct Output: Codable, Hashable, Sendable {
    package let domain: String
    /// nil if no server is running that federates.
    package let status: FederationDomainStatus?
    /// The operator's rules that name the domain or one above it.
    package let rules: [FederationRuleRow]
    package let links: [FederationLinkStatus]

    /// All of it in lines for people.
    package var lines: [String] {
      var lines = [domain + (status.map { $0.isAllowed ? " is admitted." : " is refused." } ?? "")]
      lines += rules.map { rule in
        let note = rule.note.map { ": \($0)" } ?? ""
        return "Rule: \(rule.isAllowed ? "allow" : "deny") \(rule.domain), since \(rule.changedAt)\(note)"
      }
      if let verifiedAt = status?.verifiedAt { lines.append("Its certificate was last valid: \(verifiedAt)") }
      if let refusal = status?.refusal { lines.append("The last stream was refused: \(refusal)") }
      return lines + (links.isEmpty ? ["There is no link to this domain."] : links.flatMap(\.lines))
    }
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let domain = try input.elsewhere()
    let rules = try await context.parley.read { try $0.federationRules() }
    return Output(
      domain: domain, status: await context.federation?.domain(domain),
      rules: rules.filter { FederationRuleRow.matches($0.domain, domain) }.map(FederationRuleRow.init),
      links: try await context.federationLinks(with: domain))
  }
}
