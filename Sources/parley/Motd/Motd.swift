import Administration
import ArgumentParser
import ParleyServer

struct Motd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The message of the day: everybody is told once, now or at their next login.",
    discussion: """
      Examples:
        parley motd set "We move to a new machine on Friday."
        parley motd edit "We move to a new machine on Saturday."
        parley motd show
        parley motd delete
      """,
    subcommands: [MotdSet.self, MotdEdit.self, MotdShow.self, MotdDelete.self])

  /// The common part of the commands that change it.
  static func set(
    _ text: String?, again: Bool, in domain: String?, _ options: ConfigurationOptions, _ output: OutputOptions,
    _ said: (String) -> String
  ) async throws {
    try await options.withAdministration { administration, _ in
      let input = SetMessageOfTheDay.Input(domain: domain, text: text, again: again)
      let message = try await administration.call(SetMessageOfTheDay.self, input)
      try output.print(message, said(message.domain))
    }
  }
}

struct MotdOptions: ParsableArguments {
  @Option(name: .long, help: "Whose message; else the first domain's.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions
}
