import ArgumentParser

struct MotdEdit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Corrects the message; who was told it before is not told again.",
    discussion: """
      Example:
        parley motd edit "We move to a new machine on Saturday."
      """)

  @Argument(help: "The message.") var text: String
  @OptionGroup var common: MotdOptions

  func run() async throws {
    try await Motd.set(text, again: false, in: common.domain, common.options, common.output) {
      "Changed the message of the day of \($0)."
    }
  }
}
