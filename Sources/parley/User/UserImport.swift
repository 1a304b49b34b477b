import Administration
import ArgumentParser

struct UserImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Adds users from a CSV file with the columns jid,password,name.",
    discussion: """
      The first line names the columns; name may be missing. Each line that cannot be imported is told with its \
      number and does not keep the others back. Exit status 1: some were not imported.

      Examples:
        parley user import users.csv
        parley user import users.csv --skip-existing
        generate-users | parley user import -
      """)

  @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv"])) var file: String
  @Flag(name: .customLong("skip-existing"), help: "Users that exist are passed over, and are no errors.")
  var skipExisting = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      var run = Import.run("users", path: file, skipsExisting: skipExisting)
      try await run.run(required: ["jid", "password"], optional: ["name"]) { records in
        try await context.call(
          ImportUsers.self,
          ImportUsers.Input(
            rows: records.map { record in
              ImportUsers.Row(
                jid: context.address(record["jid"]), password: record["password"],
                name: record["name"].isEmpty ? nil : record["name"])
            }))
      }
      try Import.finish(run, options.output)
    }
  }
}
