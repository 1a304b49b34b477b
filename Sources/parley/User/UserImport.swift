import Administration
import ArgumentParser

struct UserImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Adds users from a CSV file with the columns jid,password,name,externalId,email.",
    discussion: """
      The first line names the columns; all but jid may be missing. A user may have no password if there is an externalId \
      (the prn of an identity token) or an email to sign in by. Each line that cannot be imported is reported with its \
      number, and the others are imported. Exit status 1: some were not imported.

      Examples:
        parley user import users.csv
        parley user import users.csv --skip-existing
        generate-users | parley user import -
      """)

  @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv"])) var file: String
  @Flag(name: .customLong("skip-existing"), help: "Skips users that exist, instead of reporting errors.")
  var skipExisting = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    var short = 0
    try await options.withData { context in
      var run = Import.run("users", path: file, skipsExisting: skipExisting)
      try await run.run(required: ["jid"], optional: ["password", "name", "externalId", "email"]) { records in
        let outcomes = try await context.call(
          ImportUsers.self,
          ImportUsers.Input(
            rows: records.map { record in
              ImportUsers.Row(
                jid: context.address(record["jid"]), password: record["password"],
                name: record["name"].isEmpty ? nil : record["name"], externalId: record["externalId"],
                email: record["email"])
            }))
        // Those of users who exist are not taken.
        short += zip(records, outcomes).count(where: { record, outcome in
          outcome.status == .done && !record["password"].isEmpty && Passwords.flaw(of: record["password"]) != nil
        })
        return outcomes
      }
      if let warning = Passwords.reported(short: short) { Terminal.note("warning: \(warning)") }
      try Import.finish(run, path: file, options.output)
    }
  }
}
