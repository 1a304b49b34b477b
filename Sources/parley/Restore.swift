import Administration
import ArgumentParser
import Basics
import ParleyServer
import ServerConfiguration

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Restores a backup into an empty data folder; with --replace, over existing data.",
    discussion: """
      The backup is a file of parley backup, or a folder of parley backup --files, of which the newest is taken; with --s3 one in \
      the bucket of backup.s3, the newest or the one that is named. A file may also come from a replica of the database (Litestream): \
      restored here, it begins a new epoch as any backup. It is verified first: whether it is whole, of this or an older release, of the domains of the configuration, and whether the users' \
      files that it names are there. The server must be stopped.

      A folder that holds data is left alone. With --replace its database and files are kept aside, under the name that is \
      printed, until you remove them; users' files that only they have are taken over, and so are its keys but tokens.key. \
      Whatever fails, also a full disk, leaves the folder as it was.

      What was said after the backup is lost, and clients learn it: ids of what is in the backup stay, and apps that have \
      seen more are told to read anew (resync).

      Examples:
        parley restore backup.db --data ./restored
        parley restore backups --replace
      """)

  @Argument(
    help: "The backup; with --s3 its name, as parley backup --list --s3 shows it.",
    completion: .file(extensions: ["db"]))
  var backup: String?
  @Flag(name: .customLong("s3"), help: "Reads the backup from the bucket of the configuration.") var isInBucket = false
  @Flag(name: .long, help: "Replaces the data in the folder, which is kept aside.") var replace = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: LocalOptions

  func validate() throws {
    if backup == nil, !isInBucket {
      throw ValidationError(
        "the path of a backup is expected, of which parley backup --list FOLDER shows those in a folder; or --s3, if backup.s3 "
          + "or uploads.s3 names a bucket")
    }
  }

  func run() async throws {
    let settings = try options.settings()
    let draws = Terminal.errorIsTerminal
    let restore = DataRestore(settings) { if draws { Terminal.replaceLine($0 + " ...") } }
    defer { if draws { Terminal.replaceLine("") } }
    let origin: BackupOrigin =
      if let backup, !isInBucket { .path(Files.absolute(backup)) } else { .bucket(name: backup) }
    let told = try await restore.restore(origin, replacing: replace)
    try output.print(told, told.lines.joined(separator: "\n"))
  }
}
