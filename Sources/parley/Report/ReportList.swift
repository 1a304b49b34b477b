import Administration
import ArgumentParser

struct ReportList: ListCommand {
  typealias Operation = ListReports
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists reports, the newest first.",
    discussion: """
      Examples:
        parley report list
        parley report list --domain example.org --json
      """)

  @Option(name: .long, help: "Only those of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no reports."
  static let table = TextTable("Report", "Of", "By", "Reason", "Messages", "Made")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { .init(domain: domain) }

  func cells(_ report: ReportRow) -> [String] {
    [String(report.id), report.reported, report.reporter, report.reason, String(report.messages), report.createdAt]
  }
}
