import Administration
import ArgumentParser

struct DialogCreate: AdminCommand {
  typealias Operation = CreateDialog
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Creates a group, or with --public a dialog that anybody may find and join.",
    discussion: """
      It is created in the name of its owner, who is notified like everybody else. Without a name for the address a random \
      one is generated.

      Examples:
        parley dialog create balcony --owner alice@localhost
        parley dialog create --owner alice@localhost --name "The balcony" --member bob@localhost
        parley dialog create square --owner alice@localhost --name "The square" --public --topic "Good day"
      """)

  @Argument(help: "The address, or the name before its @.") var dialog: String?
  @Option(name: .long, help: "The user who owns it.") var owner: String
  @Option(name: .long, help: "The name that people see.") var name: String?
  @Option(name: .long, help: "A description of its purpose.") var about: String?
  @Option(name: .long, help: "The first topic.") var topic: String?
  @Flag(name: .customLong("public"), help: "Anybody may find and join it.") var isPublic = false
  @Option(
    name: .customLong("external-id"),
    help: ArgumentHelp("The id of the dialog in the app's backend; it must be unique.", valueName: "id"))
  var externalID: String?
  @Option(name: .customLong("member"), help: "A member beside the owner; may be given several times.")
  var members: [String] = []
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(
      dialog: dialog, owner: context.address(owner), name: name, about: about, topic: topic, isPublic: isPublic,
      externalId: externalID, members: members.map(context.address))
  }

  func text(_ made: DialogRow) -> String { "Created \(made.jid)." }
}
