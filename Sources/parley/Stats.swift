import Administration
import ArgumentParser
import ParleyServer

struct Stats: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints what the running server measures.",
    discussion: """
      The names are those of the metrics for Prometheus; what is 0 is left out. Times of histograms are since the \
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
