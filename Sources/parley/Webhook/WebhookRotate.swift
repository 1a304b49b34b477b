import Administration
import ArgumentParser
import ParleyServer

struct WebhookRotate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Gives a webhook another secret and prints it. For a day the one before signs too.",
    discussion: """
      Example:
        parley webhook rotate 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let made = try await administration.call(RotateWebhookSecret.self, WebhookInput(domain: domain, id: id))
      try output.print(made, made.secret)
    }
  }
}
