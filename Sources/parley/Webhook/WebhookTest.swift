import Administration
import ArgumentParser
import ParleyServer

struct WebhookTest: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Sends webhook.test now, and says what came of it.",
    discussion: """
      Exit status 1: it was not taken.

      Example:
        parley webhook test 4711
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The webhook's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let outcome = try await administration.call(TestWebhook.self, WebhookInput(domain: domain, id: id))
      try output.print(outcome, outcome.taken ? "It was taken." : "It was not taken. \(outcome.reason ?? "")")
      if !outcome.taken { throw ExitCode(1) }
    }
  }
}
