import Administration
import ArgumentParser
import ParleyServer

struct DialogList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists group and public dialogs by address, hidden ones too.",
    discussion: """
      Examples:
        parley dialog list
        parley dialog list --matching team
        parley dialog list --domain example.org --json
      """)

  @Option(name: .long, help: "Dialogs of this domain; else of the first.") var domain: String?
  @Option(name: .long, help: ArgumentHelp("Names with this text, or addresses that begin with it.", valueName: "text"))
  var matching: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      var dialogs: [DialogRow] = []
      var after: String?
      repeat {
        let page = try await administration.call(
          ListDialogs.self, ListDialogs.Input(domain: domain, matching: matching, after: after, limit: 500))
        dialogs += page.items
        after = page.nextCursor
      } while after != nil
      var table = TextTable([
        ("Dialog", .left), ("Name", .left), ("Type", .left), ("Listed", .left), ("Members", .right),
        ("Created", .left),
      ])
      for dialog in dialogs {
        table.add([
          dialog.jid, dialog.name ?? "", dialog.type, dialog.listed ? "yes" : "", String(dialog.members),
          dialog.createdAt,
        ])
      }
      try output.print(dialogs, dialogs.isEmpty ? "There are no dialogs." : String(table.text().dropLast()))
    }
  }
}
