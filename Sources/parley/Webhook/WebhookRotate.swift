import Administration
import ArgumentParser

struct WebhookRotate: AdminCommand {
  typealias Operation = RotateWebhookSecret
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Gives a webhook a new secret and prints it. For a day requests are also signed with the former one.",
    discussion: """
      Example:
        parley webhook rotate 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, id: id) }

  func text(_ made: Operation.Output) -> String { made.secret }
}
