import ArgumentParser

struct Report: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reports: complaints of users about others whom they block.",
    discussion: """
      Examples:
        parley report list
        parley report show 3
        parley report dismiss 4
      """,
    subcommands: [ReportList.self, ReportShow.self, ReportDismiss.self])
}
