import Administration
import ArgumentParser

struct MotdEdit: AdminCommand {
  typealias Operation = SetMessageOfTheDay
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Corrects the message, without showing it again to those who have seen it.",
    discussion: """
      Example:
        parley motd edit "We move to a new machine on Saturday."
      """)

  @Argument(help: "The message.") var text: String
  @Option(name: .long, help: "The domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, text: text, again: false) }

  func text(_ message: Operation.Output) -> String { "Changed the message of the day of \(message.domain)." }
}
