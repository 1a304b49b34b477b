import Administration
import ArgumentParser

struct RosterImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Adds contacts from a CSV file with the columns jid,contact,name,groups.",
    discussion: """
      The first line names the columns; name and groups may be missing, as may fields at the end of a line. Groups are \
      separated by semicolons. Each line that cannot be imported is reported with its number; the exit status is then 1.

      Examples:
        parley roster import rosters.csv --mutual
        parley roster export --data old | parley roster import -
      """)

  @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv"])) var file: String
  @Flag(name: .long, help: "Each line makes both contacts of each other, with presence both ways.") var mutual = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      var run = Import.run("contacts", path: file)
      try await run.run(required: ["jid", "contact"], optional: ["name", "groups"]) { records in
        try await context.call(
          ImportContacts.self,
          ImportContacts.Input(
            rows: records.map { record in
              let name = CSVWriter.plain(record["name"])
              return ImportContacts.Row(
                jid: context.address(record["jid"]), contact: context.address(record["contact"]),
                name: name.isEmpty ? nil : name, groups: RosterGroups.list(CSVWriter.plain(record["groups"])))
            }, mutual: mutual))
      }
      try Import.finish(run, path: file, options.output)
    }
  }
}

/// Groups in a single field.
enum RosterGroups {
  static func list(_ field: String) -> [String] {
    field.split(separator: ";").map { $0.trimmingPrefix(while: \.isWhitespace) }
      .map { part in
        var part = part
        while part.last?.isWhitespace == true { part.removeLast() }
        return String(part)
      }
      .filter { !$0.isEmpty }
  }

  static func field(_ groups: [String]) -> String { groups.joined(separator: ";") }
}
