import Basics
import Commands
import Dialogs
import XMPP

/// Parley's own commands for federation, which XEP-0133 does not know: those of `parley federation`.
extension AdHocCommand {
  static func federationLinks(_ context: AdminContext) -> AdHocCommand {
    admin(context, "federation", "List links to other servers") { (_, _, context) throws(Problem) in
      let page = try await context.perform(
        ListFederation.self, ListFederation.Input(after: nil, limit: AdminLimits.commandRowsMax))
      return report(page.items.map { $0.cells.filter { !$0.isEmpty }.joined(separator: ", ") })
    }
  }

  /// The actions on one domain elsewhere.
  private enum FederationAction: String, CaseIterable {
    case show, test, allow, deny, forget, close, retry, drop

    var label: String {
      switch self {
      case .show: "Show"
      case .test: "Test"
      case .allow: "Admit, regardless of the configuration"
      case .deny: "Refuse, regardless of the configuration"
      case .forget: "Remove the rule that admits or refuses it"
      case .close: "Close the streams"
      case .retry: "Try to connect at once"
      case .drop: "Return waiting messages to their authors"
      }
    }
  }

  static func federationDomain(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "federation-domain", "Manage another server", "Name a remote domain and choose an action.",
      fields: { _ in
        [
          DataForm.Field("domain", .textSingle, label: "Domain", isRequired: true),
          DataForm.Field(
            "action", .listSingle, label: "Action", values: [FederationAction.show.rawValue],
            options: FederationAction.allCases.map { DataForm.Option($0.rawValue, label: $0.label) }),
          DataForm.Field("note", .textSingle, label: "A note, if it is admitted or refused"),
        ]
      },
      perform: { (form, _, context) throws(Problem) in
        guard let action = FederationAction(rawValue: form.value("action") ?? FederationAction.show.rawValue) else {
          throw Problem(.malformed, "action-unknown", "There is no such action.", field: "action")
        }
        return try await perform(action, form.required("domain"), note: form.value("note"), context)
      })
  }

  private static func perform(
    _ action: FederationAction, _ domain: String, note: String?, _ context: AdminContext
  ) async throws(Problem) -> Outcome {
    let input = FederationInput(domain: domain)
    switch action {
    case .show: return report(try await context.perform(ShowFederation.self, input).lines)
    case .test: return report(try await context.perform(TestFederation.self, .init(domain: domain, from: nil)).lines)
    case .allow, .deny:
      let text = note.flatMap { $0.isEmpty ? nil : $0 }
      _ = try await context.perform(
        SetFederationRule.self, .init(domain: domain, isAllowed: action == .allow, note: text))
      return .done(nil)
    case .forget:
      _ = try await context.perform(RemoveFederationRule.self, input)
      return .done(nil)
    case .close: return .done("Closed \(try await context.perform(CloseFederation.self, input).count) streams.")
    case .retry: return .done("Trying \(try await context.perform(RetryFederation.self, input).count) links.")
    case .drop:
      return .done(
        "\(try await context.perform(DropFederationQueue.self, input).count) messages are returned to their authors.")
    }
  }

  private static func report(_ lines: [String]) -> Outcome {
    .fields([DataForm.Field("report", .textMulti, label: "Report", values: lines.map { Line.safe($0) })])
  }
}
