import Accounts
import Basics
import Commands
import Dialogs
import XMPP

extension AdHocCommand {
  /// Makes an archive of all of the user's data, and tells where the last one is.
  static func export(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(node: accountNode("export"), title: "Export my data", audience: .managers) {
      (session) throws(Problem) in
      let accounts = context.accounts
      guard let last = try await accounts.exports(of: session.party.id).first, last.state != .failed,
        let place = try await accounts.exportURL(last)
      else { return .done(try await beginExport(session, context)) }
      let form = DataForm(
        .form, title: "Export my data", instructions: ["There is an archive from \(last.createdAt.description)."],
        fields: [
          DataForm.Field(
            "do", .listSingle, label: "What to do", values: ["show"],
            options: [
              DataForm.Option("show", label: "Show its URL"), DataForm.Option("make", label: "Create a new archive"),
            ])
        ])
      return .stage(
        Stage(form, isLast: true) { (form, session) throws(Problem) in
          if form.value("do") == "make" { return .done(try await beginExport(session, context)) }
          let expiry = place.expires.map {
            [DataForm.Field("expire", .textSingle, $0.description, label: "Good until")]
          }
          return .done(
            .result(
              DataForm(
                .result, title: "Export my data",
                fields: [DataForm.Field("uri", .textSingle, place.url, label: "Archive")] + (expiry ?? []))))
        })
    }
  }

  private static func beginExport(_ session: any LiveSession, _ context: AdminContext) async throws(Problem) -> Outcome
  {
    try context.accounts.checkManages(session)
    context.accounts.finishInBackground(try await context.accounts.beginExport(of: session.party))
    return .done("An archive of your data is being created. Execute this command again to get it.")
  }
}
