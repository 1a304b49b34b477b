package import Dialogs
import HTTPPort

/// Lists the operator's rules for domains elsewhere, by domain.
package enum ListFederationRules: AdminOperation {
  package static let name = "federation.rules"
  package static let routes = [AdminRoute(.get, "/federation-rules", .federationRead)]

  package typealias Input = Empty
  package typealias Output = AdminPage<FederationRuleRow, String>

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    Output(items: try await context.parley.read { try $0.federationRules() }.map(FederationRuleRow.init))
  }
}
