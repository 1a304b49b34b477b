import Administration
import ArgumentParser
import ParleyServer

struct MotdShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows the message of the day.",
    discussion: """
      Example:
        parley motd show
      """)

  @OptionGroup var common: MotdOptions

  func run() async throws {
    try await common.options.withAdministration { administration, _ in
      let message = try await administration.call(
        ShowMessageOfTheDay.self, ShowMessageOfTheDay.Input(domain: common.domain))
      try common.output.print(message, message.text ?? "There is no message of the day of \(message.domain).")
    }
  }
}
