package import Dialogs
import HTTPPort
import Peers

/// Removes the operator's rule for a domain elsewhere: the lists of the configuration decide again.
package enum RemoveFederationRule: AdminOperation {
  package static let name = "federation.forget"
  package static let routes = [AdminRoute(.delete, "/federation-rules/{domain}", .federationWrite)]

  package typealias Input = FederationInput
  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let name = try FederationRuleRow.pattern(input.domain)
    let isRemoved = try await context.parley.work(keepingCaches: true) { writer in
      guard let rule = try writer.federationRules().first(where: { $0.domain == name }) else { return false }
      try writer.remove(rule)
      return true
    }
    guard isRemoved else {
      throw Problem(.missing, "rule-unknown", "There is no rule for \(name).", field: "domain")
    }
    try await context.federation?.rulesChanged()
    return Empty()
  }
}
