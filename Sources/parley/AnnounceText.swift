import Administration
import ArgumentParser

struct AnnounceText: AdminCommand {
  typealias Operation = Announce
  static let configuration = CommandConfiguration(
    commandName: "announce",
    abstract: "Sends a message to everyone who is online with an XMPP client.",
    discussion: """
      Who is not online never hears of it; parley motd set is for everybody.

      Examples:
        parley announce "The server restarts at noon."
        parley announce --domain example.org "Welcome to the new office."
      """)

  @Argument(help: "What to say.") var text: String
  @Option(name: .long, help: "To whose users; else the first domain's.") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, text: text) }

  func text(_ told: Operation.Output) -> String {
    "Told \(told.sessions) session\(told.sessions == 1 ? "" : "s") of users of \(told.domain)."
  }
}
