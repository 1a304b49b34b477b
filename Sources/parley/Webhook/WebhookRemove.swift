import Administration
import ArgumentParser

struct WebhookRemove: AdminCommand {
  typealias Operation = RemoveWebhook
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Removes a webhook with its failures.",
    discussion: """
      Example:
        parley webhook remove 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, id: id) }

  func text(_ output: Operation.Output) -> String { "Removed webhook \(id)." }
}
