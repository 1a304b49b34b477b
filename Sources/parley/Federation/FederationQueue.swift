import Administration
import ArgumentParser
import Basics

struct FederationQueue: ListCommand {
  typealias Operation = ListFederationQueue
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "Lists messages that wait for a remote domain; with --drop returns them to their authors.",
    discussion: """
      Examples:
        parley federation queue example.net
        parley federation queue example.net --drop
      """)

  @Argument(help: "The remote domain.") var domain: String
  @Flag(name: .long, help: "Gives up the delivery of all these messages; the authors are notified.") var drop = false
  @OptionGroup var options: CommandOptions

  static let none = "Nothing waits."
  static let table = TextTable("Here", "Position", "From", "Kind", "Returned at")

  func run() async throws {
    guard drop else { return try await perform() }
    try await options.withData { context in
      let dropped = try await context.call(DropFederationQueue.self, FederationInput(domain: domain))
      try options.output.print(dropped, "\(dropped.count) messages are returned to their authors.")
    }
  }

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input {
    .init(domain: domain, after: cursor, limit: 500)
  }

  func cells(_ row: ListFederationQueue.Row) -> [String] {
    [row.local, String(row.position), row.from, row.kind, row.expiresAt.description]
  }
}
