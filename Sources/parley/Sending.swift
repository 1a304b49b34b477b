import Administration
import ArgumentParser

struct Sending: ListCommand {
  typealias Operation = ListBoundAccounts
  static let configuration = CommandConfiguration(
    commandName: "sending",
    abstract: "Lists who sends as much as one account may.",
    discussion: """
      The bounds are those of the keys `sending`. An account is listed for a minute after it was held back, and, if it \
      has stored as many bytes as one may in a day, until the day ends (UTC).

      Examples:
        parley sending
        parley sending --json
      """)

  @OptionGroup var options: CommandOptions

  static let none = "No account is at a bound."
  static let table = TextTable("Account", "Kind", "Bound", "Last")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { Empty() }

  func cells(_ row: BoundAccountRow) -> [String] { [row.account, row.kind, row.bound, row.at] }
}
