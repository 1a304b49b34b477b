import Administration
import ArgumentParser

struct Sending: ListCommand {
  typealias Operation = ListBoundAccounts
  static let configuration = CommandConfiguration(
    commandName: "sending",
    abstract: "Lists accounts that have reached a limit of sending.",
    discussion: """
      The limits are the settings `sending`. An account is listed for a minute after it was slowed down or refused, or until \
      the day ends (UTC) if it has stored the bytes of a day.

      Examples:
        parley sending
        parley sending --json
      """)

  @OptionGroup var options: CommandOptions

  static let none = "No account has reached a limit."
  static let table = TextTable("Account", "Kind", "Bound", "Last")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { Empty() }

  func cells(_ row: BoundAccountRow) -> [String] { [row.account, row.kind, row.bound, row.at] }
}
