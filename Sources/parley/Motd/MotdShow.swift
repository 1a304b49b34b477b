import Administration
import ArgumentParser

struct MotdShow: AdminCommand {
  typealias Operation = ShowMessageOfTheDay
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows the message of the day.",
    discussion: """
      Example:
        parley motd show
      """)

  @Option(name: .long, help: "The domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ message: Operation.Output) -> String {
    message.text ?? "There is no message of the day of \(message.domain)."
  }
}
