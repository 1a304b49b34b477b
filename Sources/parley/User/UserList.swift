import Administration
import ArgumentParser

struct UserList: ListCommand {
  typealias Operation = ListUsers
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists users by name.",
    discussion: """
      'Last seen' is the end of the last session over XMPP or a WebSocket, and empty for users of REST alone.

      Examples:
        parley user list
        parley user list --matching ali
        parley user list --domain example.org --json
        parley user list --role admin
      """)

  @Option(name: .long, help: "Users of this domain (default: the first).") var domain: String?
  @Option(
    name: .long,
    help: ArgumentHelp("Users whose name begins with this text, or whose display name contains it.", valueName: "text"))
  var matching: String?
  @Option(name: .long, help: "Only administrators (admin).") var role: SetRole.Role?
  @OptionGroup var options: CommandOptions

  static let none = "There are no users."
  static let table = TextTable("User", "Name", "State", "Online", "Created", "Last seen")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input {
    .init(domain: domain, matching: matching, after: cursor, limit: 500, role: role)
  }

  func cells(_ user: UserRow) -> [String] {
    [user.jid, user.name ?? "", user.state, user.online ? "yes" : "", user.createdAt, user.lastSeenAt ?? ""]
  }
}
