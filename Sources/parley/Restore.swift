import Administration
import ArgumentParser
import Basics
import ParleyServer
import ServerConfiguration

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Restores a backup into an empty data folder; with --replace, over existing data.",
    discussion: """
      The backup is a file of parley backup, or a folder of parley backup --files, whose newest backup is restored; with --s3 \
      it is in the bucket of backup.s3: the newest, or the one with the given name. A file may also come from a replica of the \
      database (Litestream). First the backup is verified: it must be complete, of this or an older release, and of the \
      domains of the configuration, and the users' files that it names must exist. The server must be stopped.

      A folder with data is not changed without --replace. With it the former database and files are moved aside, under the \
      name that is printed, until you delete them; users' files that only they have are kept in use, and so are the keys, \
      except tokens.key. After any failure, such as a full disk, the folder is as before.

      Messages sent after the backup are lost. Messages in the backup keep their ids, and apps that have seen later ones are \
      notified to load everything again (resync).

      Examples:
        parley restore backup.db --data ./restored
        parley restore backups --replace
      """)

  @Argument(
    help: "The backup; with --s3 its name, as parley backup --list --s3 shows it.",
    completion: .file(extensions: ["db"]))
  var backup: String?
  @Flag(name: .customLong("s3"), help: "Reads the backup from the bucket of the configuration.") var isInBucket = false
  @Flag(name: .long, help: "Replaces the data in the folder, and moves the former data aside.") var replace = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: LocalOptions

  func validate() throws {
    if backup == nil, !isInBucket {
      throw ValidationError(
        "the path of a backup is expected (parley backup --list FOLDER lists those in a folder); or --s3, if backup.s3 "
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
