import Administration
import ArgumentParser

struct WebhookTest: AdminCommand {
  typealias Operation = TestWebhook
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Sends webhook.test now, and reports the result.",
    discussion: """
      If the backend accepts it, events that wait for the next attempt (parley webhook list) are sent at once. Exit status \
      1: it was not accepted.

      Example:
        parley webhook test 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, id: id) }

  func text(_ outcome: Operation.Output) -> String {
    outcome.taken ? "It was accepted." : "It was not accepted. \(outcome.reason ?? "")"
  }

  func hasSucceeded(_ outcome: Operation.Output) -> Bool { outcome.taken }
}
