import Administration
import ArgumentParser
import ParleyServer

struct WebhookRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Takes a webhook away, with its failures.",
    discussion: """
      Example:
        parley webhook remove 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let done = try await administration.call(RemoveWebhook.self, WebhookInput(domain: domain, id: id))
      try output.print(done, "Removed webhook \(id).")
    }
  }
}
