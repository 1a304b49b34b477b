import ArgumentParser

struct MotdDelete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Takes the message away: nobody is told any more.",
    discussion: """
      Example:
        parley motd delete
      """)

  @OptionGroup var common: MotdOptions

  func run() async throws {
    try await Motd.set(nil, again: false, in: common.domain, common.options, common.output) {
      "Deleted the message of the day of \($0)."
    }
  }
}
