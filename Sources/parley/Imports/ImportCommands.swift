import Administration
import ArgumentParser
import Basics
import Glibc
import ImportSources
import ServerConfiguration

/// The group `parley import`.
struct ImportCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Imports users from another server.",
    discussion: """
      Accounts keep their passwords, by their SCRAM keys. An import can be interrupted, for example by Control-C, and \
      repeated: it skips what it has imported before. See docs/guides/production.md.

      Examples:
        parley import prosody /var/lib/prosody --dry-run
        parley import ejabberd dump.txt
        parley import xep0227 export.xml
      """,
    subcommands: [ImportProsody.self, ImportEjabberd.self, ImportPortable.self])
}

struct ImportPortable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "xep0227",
    abstract: "Imports a file in the portable format (XEP-0227), with the files that it includes.",
    discussion: """
      Imported are accounts, rosters, vCards, private data, personal nodes, blocks, unreceived messages and archives. \
      Archives and unreceived messages are imported only while no newer message has been written on this server.

      Examples:
        parley import xep0227 export.xml --dry-run
        parley import xep0227 export.xml --report failures.txt
      """)

  @Argument(help: "The file.", completion: .file(extensions: ["xml"])) var file: String
  @OptionGroup var importing: ImportOptions
  @OptionGroup var options: LocalDataOptions

  func run() async throws { try await importing.run(PortableSource(file), at: file, Self.self, options) }
}

struct ImportProsody: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prosody",
    abstract: "Imports the data of Prosody (0.10 to 0.12): its data folder, or its SQLite database.",
    discussion: """
      Imported are accounts, rosters, vCards, private data, personal nodes, blocks, unreceived messages, archives, rooms \
      with their people, settings and archives, and the files of mod_http_file_share. Archives and unreceived messages are \
      imported only while no newer message has been written on this server. Stop Prosody first.

      Examples:
        parley import prosody /var/lib/prosody --dry-run
        parley import prosody /var/lib/prosody
        parley import prosody /var/lib/prosody/prosody.sqlite --report failures.txt
      """)

  @Argument(help: "The data folder (data_path), or the database.", completion: .file()) var data: String
  @OptionGroup var importing: ImportOptions
  @OptionGroup var options: LocalDataOptions

  func run() async throws { try await importing.run(ProsodySource.at(data), at: data, Self.self, options) }
}

struct ImportEjabberd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ejabberd",
    abstract: "Imports the data of ejabberd: a dump of Mnesia or of an SQL database, or its SQLite database.",
    discussion: """
      The source is the output of ejabberdctl dump for ejabberd's own database, Mnesia; the file of sql_type sqlite; or the \
      output of pg_dump, mysqldump or mariadb-dump in the default format. Imported are accounts, rosters, vCards, private \
      data, personal nodes, blocks, unreceived messages, archives, rooms with their people, settings and archives, and shared \
      roster groups; with --uploads also the files of mod_http_upload. Archives and unreceived messages are imported only \
      while no newer message has been written on this server.

      Examples:
        parley import ejabberd dump.txt --dry-run
        parley import ejabberd dump.txt --report failures.txt --uploads /var/lib/ejabberd/upload
        parley import ejabberd dump.sql --domain localhost
      """)

  @Argument(help: "The dump, or the SQLite database.", completion: .file()) var source: String
  @Option(
    name: .long, help: "The domain of the users in an SQL database without new_sql_schema, whose tables lack it.")
  var domain: String?
  @Option(name: .long, help: "The folder of uploaded files (docroot of mod_http_upload).", completion: .directory)
  var uploads: String?
  @OptionGroup var importing: ImportOptions
  @OptionGroup var options: LocalDataOptions

  func run() async throws {
    try await importing.run(
      EjabberdSource.at(source, domain: domain, uploads: uploads), at: source, Self.self, options)
  }
}

/// The options and the run that all imports from other servers have in common.
struct ImportOptions: ParsableArguments {
  @Flag(
    name: .customLong("dry-run"),
    help: "Imports into a copy of the database, which is deleted, and prints the report. Nothing is changed.")
  var isTrial = false

  @Flag(name: .customLong("no-history"), help: "Does not import archives and unreceived messages.")
  var leavesHistory = false

  @Option(
    name: .long, help: "A file for the complete list of records that could not be imported.", completion: .file())
  var report: String?

  func run(
    _ source: any ImportSource, at path: String, _ command: any ParsableCommand.Type, _ options: LocalDataOptions
  ) async throws {
    try options.remote.refuse(options.configuration)
    let name = "\(command._commandName) \(Files.absolute(path))"
    do throws(SourceFailure) { try source.check() } catch { throw StartupError(error.description) }
    let interrupt = Interrupt()
    let list = try report.map { try ReportFile($0) }
    let draws = Terminal.errorIsTerminal
    var told = 0
    try await options.withData(creating: true, copying: isTrial ? interrupt.cancellation : nil) { context in
      var run = RecordsImport(
        source, name: name, takesHistory: !leavesHistory, show: draws ? { Terminal.replaceLine($0) } : nil,
        tell: { text in
          list?.add(text)
          told += 1
          if told > RecordsImport.failuresShown { return }
          if draws { Terminal.replaceLine("") }
          Terminal.note(text)
          if told == RecordsImport.failuresShown { Terminal.note("Further failures are only counted.") }
        },
        send: { records in
          try await context.call(ImportRecords.self, ImportRecords.Input(records: records, source: name))
        },
        sendPiece: isTrial ? nil : { try await context.call(ImportFile.self, $0) },
        isInterrupted: { interrupt.signalNumber != nil })
      var failure: (any Error)?
      do { try await run.run() } catch { failure = error }
      if draws { Terminal.note("") }
      for line in run.unserved {
        list?.add(line)
        Terminal.note(line)
      }
      // A source that has nothing, or cannot be read at all, has begun nothing.
      if !isTrial, !run.report.isEmpty {
        let end = EndImport.Input(source: name, report: run.report, isBrokenOff: failure != nil)
        // The failure itself says why the server cannot be told.
        do { _ = try await context.call(EndImport.self, end) } catch { if failure == nil { throw error } }
        if failure != nil {
          Terminal.note(
            "Interrupted. Everything imported so far is kept; the same command continues.")
        }
      }
      if let failure, !(failure is RecordsImport.Interrupted) { throw failure }
      if let warning = Passwords.reported(short: run.report.shortPasswords) { Terminal.note("warning: \(warning)") }
      try options.output.print(run.report, isTrial ? Self.trial(run.report, isWhole: failure == nil) : run.report.text)
      if let number = interrupt.signalNumber, failure != nil { throw ExitCode(128 + number) }
      if run.report.isEmpty, failure == nil {
        throw StartupError("nothing to import was found in \(source.places)")
      }
      if run.report.failed > 0 { throw ExitCode(1) }
    }
  }

  private static func trial(_ report: RecordsImport.Report, isWhole: Bool) -> String {
    let extent = isWhole ? "The import would have this report:" : "It was interrupted; the report so far:"
    var lines = ["A dry run: nothing was changed. \(extent)", report.text]
    if report.files.imported > 0 {
      lines.append(
        "The content of files was not read: only the import finds files that are unreadable or that uploads.scan refuses."
      )
    }
    return lines.joined(separator: "\n")
  }
}

/// The list of failed records. Only its owner may read it, since it names users.
private final class ReportFile {
  private let file: Int32

  init(_ path: String) throws {
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw StartupError("\(path) cannot be created: \(Files.reason(errno))") }
  }

  deinit { close(file) }

  func add(_ line: String) { _ = Files.writeAll(Array((line + "\n").utf8), to: file) }
}
