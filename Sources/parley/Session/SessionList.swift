import Administration
import ArgumentParser

struct SessionList: ListCommand {
  typealias Operation = ListSessions
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the sessions that are online, by address.",
    discussion: """
      A session without a client waits for it to reconnect. parley session close ends sessions.

      Examples:
        parley session list
        parley session list alice@localhost
        parley session list --domain example.org --json
      """)

  @Argument(help: "Sessions of this user (default: all).") var jid: String?
  @Option(name: .long, help: "Sessions of this domain's users (default: all).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no sessions."
  static let table = TextTable("Session", "User", "Resource", "Door", "Since", "Client", "Presence")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input {
    .init(jid: jid.map(context.address), domain: domain, after: cursor, limit: 500)
  }

  func cells(_ session: SessionRow) -> [String] {
    [
      session.id, session.jid, session.resource, session.door, session.since,
      session.connected ? session.inactive ? "inactive" : "active" : "none",
      session.available ? "available" : "",
    ]
  }
}
