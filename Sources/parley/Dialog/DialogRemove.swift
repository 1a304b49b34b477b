import Administration
import ArgumentParser

struct DialogRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Removes a user from a dialog, or lifts their ban.",
    discussion: """
      Examples:
        parley dialog remove team@conference.localhost bob@localhost
        parley dialog remove team bob --reason "Left the company"
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Argument(help: "The user's address.") var jid: String
  @Option(name: .long, help: "The reason that is shown to those who are notified.") var reason: String?
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      let user = context.address(jid)
      _ = try await context.call(
        RemoveDialogMember.self, RemoveDialogMember.Input(dialog: dialog, jid: user, reason: reason))
      try options.output.print(["dialog": dialog, "jid": user], "\(user) is not in \(dialog) any more.")
    }
  }
}
