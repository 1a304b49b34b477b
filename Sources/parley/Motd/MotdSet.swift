import ArgumentParser

struct MotdSet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Sets a new message, which everybody is told once.",
    discussion: """
      Example:
        parley motd set "We move to a new machine on Friday."
      """)

  @Argument(help: "The message.") var text: String
  @OptionGroup var common: MotdOptions

  func run() async throws {
    try await Motd.set(text, again: true, in: common.domain, common.options, common.output) {
      "Set the message of the day of \($0)."
    }
  }
}
