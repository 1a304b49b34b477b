import Administration
import ArgumentParser
import ParleyServer

struct ReportList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists reports, the newest first.",
    discussion: """
      Examples:
        parley report list
        parley report list --domain example.org --json
      """)

  @Option(name: .long, help: "Those of this domain; else of the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let reports = try await administration.call(ListReports.self, ListReports.Input(domain: domain)).items
      var table = TextTable("Report", "Of", "By", "Reason", "Messages", "Made")
      for report in reports {
        table.add([
          String(report.id), report.reported, report.reporter, report.reason, String(report.messages), report.createdAt,
        ])
      }
      try output.print(reports, reports.isEmpty ? "There are no reports." : String(table.text().dropLast()))
    }
  }
}
