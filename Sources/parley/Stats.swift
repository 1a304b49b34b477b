import Administration
import ArgumentParser
import ParleyServer

struct Stats: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the running server's measurements.",
    discussion: """
      The names are those of the metrics for Prometheus; metrics with the value 0 are omitted. Histograms count since the \
      server's start.

      Examples:
        parley stats
        parley stats --json
      """)

  @OptionGroup var options: CommandOptions

  func run() async throws {
    let server = try await options.remote.running(options.configuration)
    let stats = try await server.call(ServerStats.self, Empty())
    try options.output.print(stats, StatsText.table(stats))
  }
}
