import Administration
import ArgumentParser

struct RosterList: ListCommand {
  typealias Operation = ListRoster
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists a user's contacts.",
    discussion: """
      Examples:
        parley roster list alice@localhost
        parley roster list alice --json
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  static let none = "There are no contacts."
  static let table = TextTable("Contact", "Name", "Groups", "Subscription", "Waiting")

  func input(in context: CommandContext, after cursor: Never?) -> Operation.Input { .init(jid: context.address(jid)) }

  func cells(_ item: ListRoster.Item) -> [String] {
    let waiting = [item.asked ? "for the contact" : nil, item.asks ? "for the user" : nil].compactMap { $0 }
    return [
      item.jid, item.name ?? "", item.groups.joined(separator: "; "), item.subscription,
      waiting.joined(separator: ", "),
    ]
  }
}
