import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct DialogCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Makes a group, or with --public a dialog that anybody may find and join.",
    discussion: """
      It is made in the name of its owner, who is told like everybody else. Without a name for the address a random \
      one is made up.

      Examples:
        parley dialog create balcony --owner alice@localhost
        parley dialog create --owner alice@localhost --name "The balcony" --member bob@localhost
        parley dialog create square --owner alice@localhost --name "The square" --public --topic "Good day"
      """)

  @Argument(help: "The address, or the name before its @.") var dialog: String?
  @Option(name: .long, help: "The user to whom it belongs.") var owner: String
  @Option(name: .long, help: "What people call it.") var name: String?
  @Option(name: .long, help: "What it is for.") var about: String?
  @Option(name: .long, help: "What is talked about first.") var topic: String?
  @Flag(name: .customLong("public"), help: "Anybody may find and join it.") var isPublic = false
  @Option(
    name: .customLong("external-id"),
    help: ArgumentHelp("What the app's own backend calls it; only one dialog may have it.", valueName: "id"))
  var externalID: String?
  @Option(name: .customLong("member"), help: "A member beside the owner; may be given several times.")
  var members: [String] = []
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let made = try await administration.call(
        CreateDialog.self,
        CreateDialog.Input(
          dialog: dialog, owner: options.address(owner, settings), name: name, about: about, topic: topic,
          isPublic: isPublic, externalId: externalID, members: members.map { options.address($0, settings) }))
      try output.print(made, "Created \(made.jid).")
    }
  }
}
