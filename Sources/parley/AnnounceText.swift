import Administration
import ArgumentParser

struct AnnounceText: AdminCommand {
  typealias Operation = Announce
  static let configuration = CommandConfiguration(
    commandName: "announce",
    abstract: "Sends a message to everyone who is online with an XMPP client.",
    discussion: """
      Users who are offline do not get it, not even later; parley motd set reaches everybody.

      Examples:
        parley announce "The server restarts at noon."
        parley announce --domain example.org "Welcome to the new office."
      """)

  @Argument(help: "The text of the message.") var text: String
  @Option(name: .long, help: "Only to users of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, text: text) }

  func text(_ told: Operation.Output) -> String {
    "Sent to \(told.sessions) session\(told.sessions == 1 ? "" : "s") of users of \(told.domain)."
  }
}
