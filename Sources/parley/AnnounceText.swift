import Administration
import ArgumentParser
import ParleyServer

struct AnnounceText: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "announce",
    abstract: "Tells everybody who is online with an XMPP client something.",
    discussion: """
      Who is not online never hears of it; parley motd set is for everybody.

      Examples:
        parley announce "The server restarts at noon."
        parley announce --domain example.org "Welcome to the new office."
      """)

  @Argument(help: "What to say.") var text: String
  @Option(name: .long, help: "To whose users; else the first domain's.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let told = try await administration.call(Announce.self, Announce.Input(domain: domain, text: text))
      try output.print(
        told, "Told \(told.sessions) session\(told.sessions == 1 ? "" : "s") of users of \(told.domain).")
    }
  }
}
