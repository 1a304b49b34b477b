import Administration
import ArgumentParser

struct MotdSet: AdminCommand {
  typealias Operation = SetMessageOfTheDay
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Sets a new message, shown once to each user.",
    discussion: """
      Example:
        parley motd set "We move to a new machine on Friday."
      """)

  @Argument(help: "The message.") var text: String
  @Option(name: .long, help: "The domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, text: text, again: true) }

  func text(_ message: Operation.Output) -> String { "Set the message of the day of \(message.domain)." }
}
