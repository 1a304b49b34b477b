import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct RosterList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists a user's contacts.",
    discussion: """
      Examples:
        parley roster list alice@localhost
        parley roster list alice --json
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let items = try await administration.call(
        ListRoster.self, ListRoster.Input(jid: options.address(jid, settings)))
      var table = TextTable("Contact", "Name", "Groups", "Subscription", "Waiting")
      for item in items {
        let waiting = [item.asked ? "for the contact" : nil, item.asks ? "for the user" : nil].compactMap { $0 }
        table.add([
          item.jid, item.name ?? "", item.groups.joined(separator: "; "), item.subscription,
          waiting.joined(separator: ", "),
        ])
      }
      try output.print(items, items.isEmpty ? "There are no contacts." : String(table.text().dropLast()))
    }
  }
}
