import Administration
import ArgumentParser

struct WebhookAdd: AdminCommand {
  typealias Operation = AddWebhook
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds a webhook, which sends events to a URL, and prints the secret that signs them.",
    discussion: """
      Events are those of docs/app-protocol.md, user.created, user.deleted and report.created; message.* is all of one \
      kind, * is all. Requests are signed as Standard Webhooks; the secret cannot be shown again.

      Examples:
        parley webhook add http://127.0.0.1:9000/hook --event 'message.*'
        parley webhook add http://127.0.0.1:9000/hook --event user.created --event user.deleted --json
      """)

  @Argument(help: "The URL: http or https, any host; with --server one at a public address, or in outgoing.networks.")
  var url: String
  @Option(name: .long, help: "An event to send; may be given several times.") var event: [String]
  @Option(name: .long, help: "The domain whose events are sent (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, url: url, events: event) }

  func text(_ made: Operation.Output) -> String { "\(made.secret)\nWebhook \(made.webhook.id)." }
}
