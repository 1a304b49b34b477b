import Administration
import ArgumentParser

struct ReportShow: AdminCommand {
  typealias Operation = ShowReport
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a report with the messages that it quotes.",
    discussion: """
      Example:
        parley report show 3
      """)

  @Argument(help: "The report's number, as in the list.") var id: Int64
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(id: id) }

  func text(_ shown: Operation.Output) -> String {
    var table = TextTable("Report", String(shown.report.id))
    table.add(["of", shown.report.reported])
    table.add(["by", shown.report.reporter])
    table.add(["reason", shown.report.reason])
    table.add(["text", shown.report.text])
    table.add(["made", shown.report.createdAt])
    table.add(["may be sent to", Self.consent(shown)])
    if let forwarding = shown.forwarding { table.add(["to its server", Self.words[forwarding] ?? forwarding]) }
    for message in shown.messages {
      table.add(["message \(message.id)", message.text ?? "(not readable)"])
      if let dialog = message.dialog {
        let name = message.dialogName.map { "\($0), " } ?? ""
        let state = message.deleted ? ", deleted" : ""
        table.add(["in \(dialog)", "\(name)\(message.dialogType ?? "")\(state), \(message.sentAt ?? "")"])
      }
    }
    return table.text()
  }

  private static let words = [
    "waiting": "will be forwarded", "forwarded": "forwarded", "unaccepted": "not forwarded: it accepts no reports",
    "unreached": "not forwarded: it could not be reached", "limited": "not forwarded: too many reports in that hour",
  ]

  private static func consent(_ shown: ShowReport.Output) -> String {
    let whom = (shown.mayTellOrigin ? ["its server"] : []) + (shown.mayTellThirdParties ? ["third parties"] : [])
    return whom.isEmpty ? "nobody" : whom.joined(separator: ", ")
  }
}
