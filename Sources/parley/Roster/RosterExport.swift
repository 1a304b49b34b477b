import Administration
import ArgumentParser

struct RosterExport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes contacts as CSV with the columns jid,contact,name,groups, or as JSON.",
    discussion: """
      Names and groups that a spreadsheet would take for formulas have an apostrophe before them, which \
      'parley roster import' removes.

      Examples:
        parley roster export > rosters.csv
        parley roster export alice@localhost
        parley roster export --domain example.org --json
      """)

  @Argument(help: "Only this user's contacts (default: those of all users).") var jid: String?
  @Option(name: .long, help: "Users of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  private struct Row: Encodable {
    let jid: String
    let item: ListRoster.Item
  }

  func run() async throws {
    try await options.withData { context in
      var rows: [Row] = []
      if !options.output.json { Terminal.print(CSVWriter.line(["jid", "contact", "name", "groups"])) }
      func export(_ user: String) async throws {
        for item in try await context.call(ListRoster.self, ListRoster.Input(jid: user))
        where item.listed {
          if options.output.json {
            rows.append(Row(jid: user, item: item))
          } else {
            // An address has no quotes and no spaces: no formula with an effect begins with one.
            let texts = [item.name ?? "", RosterGroups.field(item.groups)].map(CSVWriter.text)
            Terminal.print(CSVWriter.line([user, item.jid] + texts, isForTerminal: Terminal.outputIsTerminal))
          }
        }
      }
      if let jid {
        try await export(context.address(jid))
      } else {
        var after: String?
        repeat {
          let page = try await context.call(
            ListUsers.self, ListUsers.Input(domain: domain, matching: nil, after: after, limit: 500))
          for user in page.items { try await export(user.jid) }
          after = page.nextCursor
        } while after != nil
      }
      if options.output.json { try options.output.print(rows, "") }
    }
  }
}
