import Accounts
import Basics
import Commands
import Dialogs
import XMPP

extension AdHocCommand {
  /// Lists what has access to the account, of both protocols, and ends what the user chooses: XEP-0494 for clients that
  /// do not know it.
  static func sessions(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(node: accountNode("sessions"), title: "My sessions", audience: .managers) {
      (session) throws(Problem) in
      let accounts = context.accounts
      let others = try await accounts.parley.read { try accounts.otherAccessors(of: session, $0) }
      if others.isEmpty { return .done(.done("Only this session has access to your account.")) }
      let names = Dictionary(others.map { ($0.id, $0.label) }) { first, _ in first }
      let form = DataForm(
        .form, title: "My sessions", instructions: ["These have access to your account. Choose which to end."],
        fields: [
          DataForm.Field(
            "sessions", .listMulti, label: "Sessions", options: others.map { DataForm.Option($0.id, label: $0.label) })
        ])
      return .stage(
        Stage(form, isLast: false) { (form, _) throws(Problem) in
          var seen: Set<String> = []
          let chosen = form.values("sessions").filter { names[$0] != nil && seen.insert($0).inserted }
          if chosen.isEmpty { return .done(.done("Nothing was ended.")) }
          return .stage(confirmation(of: chosen.map { ($0, names[$0] ?? $0) }, context))
        })
    }
  }

  private static func confirmation(of chosen: [(id: String, name: String)], _ context: AdminContext) -> Stage {
    let form = DataForm(
      .form, title: "My sessions", instructions: ["These lose their access now."],
      fields: chosen.map { DataForm.Field(nil, .fixed, values: [$0.name]) })
    return Stage(form, isLast: true) { (_, session) throws(Problem) in
      var lines: [String] = []
      for (id, name) in chosen {
        switch try await context.accounts.revoke(id, by: session) {
        case .revoked: lines.append("\(name): ended.")
        case .passwordKnown: lines.append("\(name): ended. It knows your password: change it to prevent a new login.")
        case .unknown: lines.append("\(name): had ended already.")
        }
      }
      return .done(.done(lines.joined(separator: "\n")))
    }
  }
}

extension Accounts.Accessor {
  fileprivate var label: String {
    let name: String
    switch kind {
    case .client: name = [software, device].compactMap { $0 }.joined(separator: ", ")
    case .grant(let grant): name = "\(software ?? "App"), \(grant.device)"
    case .appPassword(let password): name = "App password \(password.name)"
    case .session(let resource): name = [software, resource].compactMap { $0 }.joined(separator: ", ")
    }
    let state = isConnected ? "connected" : "last seen \(lastSeen.description)"
    return "\(name.isEmpty ? "A client" : Line.safe(name)) (\(state))"
  }
}
