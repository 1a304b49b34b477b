import Administration
import ArgumentParser

struct WebhookFailures: ListCommand {
  typealias Operation = ListWebhookFailures
  static let configuration = CommandConfiguration(
    commandName: "failures",
    abstract: "Lists, sends again or deletes events that a webhook did not accept.",
    discussion: """
      Examples:
        parley webhook failures 4711
        parley webhook failures 4711 --again
        parley webhook failures 4711 --forget
      """)

  @Argument(help: "The webhook's number, as in the list.") var id: Int64
  @Flag(name: .long, help: "Sends the events again, with the same webhook-ids.") var again = false
  @Flag(name: .long, help: "Deletes the events.") var forget = false
  @Option(name: .long, help: "Only this failure, by its number, is sent again or deleted.") var failure: Int64?
  @Option(name: .long, help: "The webhook's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func validate() throws {
    if again, forget { throw ValidationError("--again and --forget exclude each other") }
    if failure != nil, !again, !forget { throw ValidationError("--failure requires --again or --forget") }
  }

  static let none = "There are no failures."
  static let table = TextTable("Failure", "Event", "Failed", "Reason")

  func run() async throws {
    guard again || forget else { return try await perform() }
    try await options.withData { context in
      let those = WebhookFailuresInput(domain: domain, id: id, failure: failure)
      if again {
        let done = try await context.call(RedriveWebhookFailures.self, those)
        try options.output.print(done, "\(done.count) events will be sent again.")
      } else {
        let done = try await context.call(RemoveWebhookFailures.self, those)
        try options.output.print(done, "\(done.count) events were deleted.")
      }
    }
  }

  func input(in context: CommandContext, after cursor: Int64?) -> Operation.Input {
    .init(domain: domain, id: id, cursor: cursor, limit: 500)
  }

  func cells(_ failure: ListWebhookFailures.Row) -> [String] {
    [String(failure.id), failure.event, failure.failedAt, failure.reason]
  }
}
