import Administration
import ArgumentParser

struct UserImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Adds users from a CSV file with the columns jid,password,name,externalId,email.",
    discussion: """
      The first line names the columns; all but jid may be missing. A user may have no password if there is an externalId \
      (the prn of an identity token) or an email to sign in by. Fields at the end of a line may be missing. Each line \
      that cannot be imported is reported with its number; the exit status is then 1. The other lines are imported, but after \
      a quote that is never closed the import ends, and reports the lines that were imported.

      Examples:
        parley user import users.csv --dry-run
        parley user import users.csv
        parley user import users.csv --skip-existing
        generate-users | parley user import -
      """)

  @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv"])) var file: String
  @Flag(name: .customLong("skip-existing"), help: "Skips users that exist, instead of reporting errors.")
  var skipExisting = false
  @Flag(
    name: .customLong("dry-run"),
    help: "Imports into a copy of this machine's database, which is deleted, and prints the report. Nothing is changed."
  )
  var isTrial = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    var short = 0
    let interrupt = isTrial ? Interrupt() : nil
    try await options.withData(copying: interrupt?.cancellation) { context in
      var run = Import.run("users", path: file, skipsExisting: skipExisting)
      try await run.run(required: ["jid"], optional: ["password", "name", "externalId", "email"]) { records in
        // The copy is deleted on the way out.
        if let number = interrupt?.signalNumber { throw ExitCode(128 + number) }
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
      if isTrial { Terminal.note("A dry run: nothing was changed. The import would have this report:") }
      try Import.finish(run, path: file, options.output)
    }
  }
}
