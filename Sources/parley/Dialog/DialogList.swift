import Administration
import ArgumentParser

struct DialogList: ListCommand {
  typealias Operation = ListDialogs
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists group and public dialogs by address, including hidden ones.",
    discussion: """
      Examples:
        parley dialog list
        parley dialog list --matching team
        parley dialog list --domain example.org --json
        parley dialog list --external-id order-17
        parley dialog list --external-id order-17 --creator alice@localhost
      """)

  @Option(name: .long, help: "Dialogs of this domain (default: the first).") var domain: String?
  @Option(
    name: .long,
    help: ArgumentHelp("Dialogs with this text in the name or at the beginning of the address.", valueName: "text"))
  var matching: String?
  @Option(name: .customLong("external-id"), help: ArgumentHelp("The dialog with this backend id.", valueName: "id"))
  var externalID: String?
  @Option(name: .long, help: "With --external-id: the dialog to which this user gave that id.") var creator: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no dialogs."
  static let table = TextTable([
    ("Dialog", .left), ("Name", .left), ("Type", .left), ("Listed", .left), ("Members", .right), ("Created", .left),
  ])

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input {
    .init(
      domain: domain, matching: matching, after: cursor, limit: 500, externalId: externalID,
      creator: creator.map(context.address))
  }

  func cells(_ dialog: DialogRow) -> [String] {
    [
      dialog.jid, dialog.name ?? "", dialog.type, dialog.listed ? "yes" : "", String(dialog.members), dialog.createdAt,
    ]
  }
}
