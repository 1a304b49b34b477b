import Administration
import ArgumentParser

struct RosterRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Removes a contact from a user's roster and ends their subscriptions.",
    discussion: """
      Examples:
        parley roster remove alice@localhost bob@localhost
        parley roster remove alice@localhost bob@localhost --mutual
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The contact's address.") var contact: String
  @Flag(name: .long, help: "Also removes the user from the contact's roster.") var mutual = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      let user = context.address(jid)
      let other = context.address(contact)
      _ = try await context.call(
        RemoveContact.self, RemoveContact.Input(jid: user, contact: other, mutual: mutual))
      try options.output.print(["jid": user, "contact": other], "\(other) is no contact of \(user) any more.")
    }
  }
}
