import Administration
import ArgumentParser

struct MotdDelete: AdminCommand {
  typealias Operation = SetMessageOfTheDay
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Removes the message, which is no longer shown to anyone.",
    discussion: """
      Example:
        parley motd delete
      """)

  @Option(name: .long, help: "The domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, text: nil, again: false) }

  func text(_ message: Operation.Output) -> String { "Deleted the message of the day of \(message.domain)." }
}
