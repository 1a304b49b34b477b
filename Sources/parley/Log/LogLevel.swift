import Administration
import ArgumentParser

struct LogLevel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "level",
    abstract: "Shows the level of the log, or changes it until the next start or reload.",
    discussion: """
      Levels: trace, debug, info, notice, warning, error, critical. The next start or reload sets the configured level \
      (log.level) again.

      Examples:
        parley log level
        parley log level debug
      """)

  @Argument(help: "The level to set; without it the present level is shown.") var level: String?
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      let shown =
        if let level {
          try await context.call(SetLogLevel.self, SetLogLevel.Input(level: level))
        } else {
          try await context.call(ShowLogLevel.self, Empty())
        }
      let note = shown.level == shown.configured ? "" : " (log.level: \(shown.configured))"
      try options.output.print(shown, shown.level + note)
    }
  }
}
