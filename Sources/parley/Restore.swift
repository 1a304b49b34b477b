import Administration
import ArgumentParser
import Basics
import ParleyServer
import ServerConfiguration

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Puts a backup into an empty data folder, or in the place of what is in it.",
    discussion: """
      The backup is a file of parley backup, or a folder of parley backup --files, of which the newest is taken. It is verified \
      first: whether it is whole, of this or an older release, of the domains of the configuration, and whether the users' \
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

  @Argument(help: "The backup.", completion: .file(extensions: ["db"])) var backup: String
  @Flag(name: .long, help: "Takes the place of the data that is in the folder.") var replace = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: LocalOptions

  func run() async throws {
    let settings = try options.settings()
    let draws = Terminal.errorIsTerminal
    let restore = DataRestore(settings) { if draws { Terminal.replaceLine($0 + " ...") } }
    defer { if draws { Terminal.replaceLine("") } }
    let told = try await restore.restore(Files.absolute(backup), replacing: replace)
    try output.print(told, told.lines.joined(separator: "\n"))
  }
}
