import ArgumentParser

struct LogCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "The running server's log.",
    discussion: """
      Example:
        parley log level
      """,
    subcommands: [LogLevel.self])
}
