import Administration
import ArgumentParser

struct WebhookEnable: AdminCommand {
  typealias Operation = UpdateWebhook
  static let configuration = CommandConfiguration(
    commandName: "enable",
    abstract: "Enables a webhook, which continues where it stopped; with --off disables it.",
    discussion: """
      Examples:
        parley webhook enable 4711
        parley webhook enable 4711 --off
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Flag(name: .long, help: "Disables the webhook. When it is enabled again, it gets the events since then.")
  var off = false
  @Option(name: .long, help: "The webhook's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(domain: domain, id: id, url: nil, events: nil, state: off ? .disabled : .active)
  }

  func text(_ hook: WebhookRow) -> String { "Webhook \(id) is \(hook.state)." }
}
