import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserSecondFactor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "second-factor",
    abstract: "A user's second factor: off, for who has lost it.",
    discussion: """
      Examples:
        parley user second-factor off bob@localhost
      """,
    subcommands: [Off.self])

  struct Off: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes a user's second factor away: the password alone lets them in again.",
      discussion: """
        Examples:
          parley user second-factor off bob@localhost
        """)

    @Argument(help: "The user's address.") var jid: String
    @OptionGroup var output: OutputOptions
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
      try await options.withAdministration { administration, settings in
        let done = try await administration.call(
          RemoveSecondFactorOf.self, RemoveSecondFactorOf.Input(jid: options.address(jid, settings)))
        try output.print(
          done, done.removed ? "\(done.user.jid) has no second factor any more." : "\(done.user.jid) had none.")
      }
    }
  }
}
