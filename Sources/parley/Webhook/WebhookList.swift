import Administration
import ArgumentParser

struct WebhookList: ListCommand {
  typealias Operation = ListWebhooks
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists webhooks and their states.",
    discussion: """
      Examples:
        parley webhook list
        parley webhook list --domain example.org --json
      """)

  @Option(name: .long, help: "Only those of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no webhooks."
  static let table = TextTable("Webhook", "URL", "Events", "State", "Failures", "Next attempt", "Reason")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { .init(domain: domain) }

  func cells(_ hook: WebhookRow) -> [String] {
    [
      String(hook.id), hook.url, hook.events.joined(separator: " "), hook.state, String(hook.failures),
      hook.nextAttemptAt ?? "", hook.reason ?? "",
    ]
  }
}
