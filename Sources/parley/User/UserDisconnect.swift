import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserDisconnect: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disconnect",
    abstract: "Ends a user's sessions. They may come back at once.",
    discussion: """
      With a resource only that session ends; parley user show tells the resources.

      Examples:
        parley user disconnect alice@localhost
        parley user disconnect alice@localhost/phone
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let ended = try await administration.call(
        EndSessions.self, EndSessions.Input(jid: options.address(jid, settings)))
      try output.print(ended, "Ended \(ended.sessions) session\(ended.sessions == 1 ? "" : "s") of \(ended.jid).")
    }
  }
}
