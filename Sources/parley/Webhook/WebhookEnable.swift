import Administration
import ArgumentParser
import ParleyServer

struct WebhookEnable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable",
    abstract: "Has a webhook go on where it stands, at once; or stops it.",
    discussion: """
      Examples:
        parley webhook enable 4711
        parley webhook enable 4711 --off
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Flag(name: .long, help: "Stops it. What happens meanwhile it is told when it goes on.") var off = false
  @Option(name: .long, help: "The webhook's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let hook = try await administration.call(
        UpdateWebhook.self,
        UpdateWebhook.Input(domain: domain, id: id, url: nil, events: nil, state: off ? .disabled : .active))
      try output.print(hook, "Webhook \(id) is \(hook.state).")
    }
  }
}
