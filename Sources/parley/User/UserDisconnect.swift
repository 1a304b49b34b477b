import Administration
import ArgumentParser

struct UserDisconnect: AdminCommand {
  typealias Operation = EndSessions
  static let configuration = CommandConfiguration(
    commandName: "disconnect",
    abstract: "Ends a user's sessions. The user may reconnect at once.",
    discussion: """
      With a resource only that session ends; parley user show lists the resources.

      Examples:
        parley user disconnect alice@localhost
        parley user disconnect alice@localhost/phone
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid)) }

  func text(_ ended: Operation.Output) -> String { Self.text(ended) }

  static func text(_ ended: Operation.Output) -> String {
    "Ended \(ended.sessions) session\(ended.sessions == 1 ? "" : "s") of \(ended.jid)."
  }
}
