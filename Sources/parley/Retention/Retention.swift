import Administration
import ArgumentParser

struct RetentionCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retention",
    abstract: "Automatic deletion of old messages, files and unused accounts (settings retention.*).",
    discussion: """
      Examples:
        parley retention status
        parley retention run --dry-run
      """,
    subcommands: [RetentionStatus.self, RetentionRun.self])
}

struct RetentionStatus: AdminCommand {
  typealias Operation = ShowRetention
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the settings of each domain, and the last run.",
    discussion: """
      The server removes what is old enough at its start and every hour.

      Examples:
        parley retention status
        parley retention status --json
      """)

  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { Empty() }

  func text(_ status: Operation.Output) -> String {
    func age(_ days: Int64?) -> String { days.map { "\($0) days" } ?? "for ever" }
    var table = TextTable("Domain", "Private dialogs", "Rooms", "Files")
    for domain in status.domains {
      table.add([
        domain.domain, age(domain.privateDays), age(domain.roomDays),
        domain.fileBytes.map { "\($0) bytes" } ?? "any number of bytes",
      ])
    }
    var lines = [table.text()]
    lines.append(
      status.accountDays.map { "Accounts are deleted after \($0) days without use." }
        ?? "Unused accounts are never deleted.")
    lines.append("Files are kept \(status.fileDays.map { "\($0) days" } ?? "for ever").")
    lines.append("Holds: \(status.holds).")
    if status.isRunning { lines.append("A run is under way.") }
    if let last = status.last {
      lines.append("Last run: \(last.finishedAt). \(RetentionRun.text(last, isDone: true))")
      if let failure = last.failure { lines.append("It ended early: \(failure)") }
    }
    return lines.joined(separator: "\n")
  }
}

struct RetentionRun: AdminCommand {
  typealias Operation = RunRetention
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs the deletion now, and waits until it is complete.",
    discussion: """
      It works in small steps beside the traffic: about a thousand messages a second. If a run is interrupted, the next one \
      continues.

      Examples:
        parley retention run --dry-run
        parley retention run
      """)

  @Flag(name: .long, help: "Only counts what would be deleted.") var dryRun = false
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(onlyCounting: dryRun) }

  func text(_ report: Operation.Output) -> String { Self.text(report, isDone: !dryRun) }

  static func text(_ report: RetentionRow, isDone: Bool) -> String {
    let verb = isDone ? "Removed" : "Would remove"
    var text =
      "\(verb) \(report.messages) messages of \(report.dialogs) dialogs, \(report.files) files and \(report.accounts) accounts."
    if report.held > 0 { text += " Held: \(report.held)." }
    return text
  }
}
