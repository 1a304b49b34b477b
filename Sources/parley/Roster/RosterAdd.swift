import Administration
import ArgumentParser

struct RosterAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds a contact to a user's roster, or changes its name and groups.",
    discussion: """
      With --mutual both become contacts of each other and see each other's presence, without being asked.

      Examples:
        parley roster add alice@localhost bob@localhost --mutual
        parley roster add alice@localhost bob@localhost --group Friends --group Work
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The contact's address.") var contact: String
  @Option(name: .long, help: "The contact's name in the user's roster.") var name: String?
  @Option(name: .customLong("group"), help: "A group of the contact; may be given several times.")
  var groups: [String] = []
  @Flag(name: .long, help: "Makes both users contacts of each other, with presence both ways.") var mutual = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      let user = context.address(jid)
      let other = context.address(contact)
      _ = try await context.call(
        AddContact.self,
        AddContact.Input(jid: user, contact: other, name: name, groups: groups, mutual: mutual))
      try options.output.print(
        ["jid": user, "contact": other],
        mutual ? "\(user) and \(other) are contacts." : "\(other) is a contact of \(user).")
    }
  }
}
