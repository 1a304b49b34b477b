import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct RosterRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Takes a contact out of a user's roster and ends their subscriptions.",
    discussion: """
      Examples:
        parley roster remove alice@localhost bob@localhost
        parley roster remove alice@localhost bob@localhost --mutual
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The contact's address.") var contact: String
  @Flag(name: .long, help: "Also the other way round.") var mutual = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let user = options.address(jid, settings)
      let other = options.address(contact, settings)
      _ = try await administration.call(
        RemoveContact.self, RemoveContact.Input(jid: user, contact: other, mutual: mutual))
      try output.print(["jid": user, "contact": other], "\(other) is no contact of \(user) any more.")
    }
  }
}
