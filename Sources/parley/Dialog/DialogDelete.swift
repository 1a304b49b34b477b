import Administration
import ArgumentParser

struct DialogDelete: AdminCommand {
  typealias Operation = DeleteDialog
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a dialog for everybody, permanently. Its address is never used again.",
    discussion: """
      On a terminal the command asks for confirmation; otherwise --yes is required.

      Examples:
        parley dialog delete team@conference.localhost
        parley dialog delete team --yes --reason "The project is over"
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Flag(name: .long, help: "Does not ask for confirmation.") var yes = false
  @Option(name: .long, help: "The reason that is shown to its members.") var reason: String?
  @OptionGroup var options: CommandOptions

  func run() async throws {
    if !yes { try Terminal.confirm("Delete \(dialog) for everybody?") }
    try await perform()
  }

  func input(in context: CommandContext) -> Operation.Input { .init(dialog: dialog, reason: reason) }

  func text(_ gone: DialogRow) -> String { "Deleted \(gone.jid)." }
}
