import Administration
import ArgumentParser
import ParleyServer

struct WebhookList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists webhooks and how they stand.",
    discussion: """
      Examples:
        parley webhook list
        parley webhook list --domain example.org --json
      """)

  @Option(name: .long, help: "Those of this domain; else of the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let hooks = try await administration.call(ListWebhooks.self, ListWebhooks.Input(domain: domain)).items
      var table = TextTable("Webhook", "URL", "Events", "State", "Failures", "Reason")
      for hook in hooks {
        table.add([
          String(hook.id), hook.url, hook.events.joined(separator: " "), hook.state, String(hook.failures),
          hook.reason ?? "",
        ])
      }
      try output.print(hooks, hooks.isEmpty ? "There are no webhooks." : String(table.text().dropLast()))
    }
  }
}
