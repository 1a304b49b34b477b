import Administration
import ArgumentParser
import ParleyServer

struct ReportDismiss: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dismiss",
    abstract: "Puts a report away for good, with what it quotes.",
    discussion: """
      Example:
        parley report dismiss 4
      """)

  @Argument(help: "The report's number, as in the list.") var id: Int64
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let done = try await administration.call(DismissReport.self, DismissReport.Input(id: id))
      try output.print(done, "Dismissed report \(id).")
    }
  }
}
