import Administration
import ArgumentParser

struct DialogDeleteMessage: AdminCommand {
  typealias Operation = DeleteMessage
  static let configuration = CommandConfiguration(
    commandName: "delete-message",
    abstract: "Deletes a message for everybody, as in a report.",
    discussion: """
      parley report show lists the dialog and the messages of a report. In a group or public dialog the first owner is shown \
      as the one who deletes the message, in a private dialog its author. Clients are notified, except those of a user who \
      has blocked the author: these only no longer get it from the server.

      Examples:
        parley dialog delete-message team@conference.localhost 01j2s9sdqm1xq6
        parley dialog delete-message team 01j2s9sdqm1xq6 --reason "Spam"
      """)

  @Argument(help: "The dialog; a private one by its id.") var dialog: String
  @Argument(help: "The message's id.") var message: String
  @Option(name: .long, help: "The reason that is shown to those who are notified.") var reason: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(dialog: dialog, message: message, reason: reason)
  }

  func text(_ output: Operation.Output) -> String { "The message \(message) is deleted." }
}
