import Administration
import ArgumentParser
import ParleyServer

struct WebhookFailures: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "failures",
    abstract: "Lists events that a webhook did not take; sends them again, or forgets them.",
    discussion: """
      Examples:
        parley webhook failures 4711
        parley webhook failures 4711 --again
        parley webhook failures 4711 --forget
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Flag(name: .long, help: "Sends all of them again, with the webhook-ids that they had.") var again = false
  @Flag(name: .long, help: "Forgets all of them.") var forget = false
  @Option(name: .long, help: "The webhook's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func validate() throws {
    if again, forget { throw ValidationError("--again and --forget exclude each other") }
  }

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let all = WebhookFailuresInput(domain: domain, id: id, failure: nil)
      if again {
        let done = try await administration.call(RedriveWebhookFailures.self, all)
        return try output.print(done, "\(done.count) are sent again.")
      }
      if forget {
        let done = try await administration.call(RemoveWebhookFailures.self, all)
        return try output.print(done, "\(done.count) are forgotten.")
      }
      var failures: [ListWebhookFailures.Row] = []
      var cursor: Int64?
      repeat {
        let page = try await administration.call(
          ListWebhookFailures.self, ListWebhookFailures.Input(domain: domain, id: id, cursor: cursor, limit: 500))
        failures += page.items
        cursor = page.nextCursor
      } while cursor != nil
      var table = TextTable("Failure", "Event", "Failed", "Reason")
      for failure in failures { table.add([String(failure.id), failure.event, failure.failedAt, failure.reason]) }
      try output.print(failures, failures.isEmpty ? "There are no failures." : String(table.text().dropLast()))
    }
  }
}
