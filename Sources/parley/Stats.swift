import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

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

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let settings = try options.settings()
    guard let server = await AdminConnection.server(settings) else {
      throw StartupError("no server answers at \(settings.adminSocket)")
    }
    let stats = try await server.call(ServerStats.self, Empty())
    try output.print(stats, StatsText.table(stats))
  }
}
