import Administration
import ArgumentParser
import ParleyServer

struct UserList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists users by name.",
    discussion: """
      Examples:
        parley user list
        parley user list --matching ali
        parley user list --domain example.org --json
      """)

  @Option(name: .long, help: "Users of this domain; else of the first.") var domain: String?
  @Option(
    name: .long, help: ArgumentHelp("Names that begin with this text, or display names with it.", valueName: "text"))
  var matching: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      var users: [UserRow] = []
      var after: String?
      repeat {
        let page = try await administration.call(
          ListUsers.self, ListUsers.Input(domain: domain, matching: matching, after: after, limit: 500))
        users += page.items
        after = page.nextCursor
      } while after != nil
      var table = TextTable("User", "Name", "State", "Online", "Created", "Last seen")
      for user in users {
        table.add([
          user.jid, user.name ?? "", user.state, user.online ? "yes" : "", user.createdAt, user.lastSeenAt ?? "",
        ])
      }
      try output.print(users, users.isEmpty ? "There are no users." : String(table.text().dropLast()))
    }
  }
}
