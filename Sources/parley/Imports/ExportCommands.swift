import Administration
import ArgumentParser
import Basics
import Glibc
import ServerConfiguration

/// The group `parley export`.
struct ExportCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Exports users for another server.",
    discussion: """
      Example:
        parley export xep0227 --output everybody.xml
      """,
    subcommands: [ExportPortable.self])
}

struct ExportPortable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "xep0227",
    abstract: "Writes all users of a domain in the portable format (XEP-0227).",
    discussion: """
      The file contains the keys by which the users log in: anyone who reads it can try passwords, and can pretend to be \
      this server. The server may run during the export. Rooms and files are not exported.

      Examples:
        parley export xep0227 --output everybody.xml
        parley export xep0227 --domain localhost --output localhost.xml
      """)

  @Option(name: .long, help: "The users' domain (default: the first).") var domain: String?
  @Option(
    name: .long, help: "The file to create, readable only for its owner (default: standard output).",
    completion: .file())
  var output: String?
  @OptionGroup var options: LocalDataOptions

  func run() async throws {
    try options.remote.refuse(options.configuration)
    try await options.withData { context in
      let file = try output.map { path in
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
          let code = errno
          throw StartupError(
            code == EEXIST
              ? "\(path) exists already; name another file, or remove it"
              : "\(path) cannot be created: \(Files.reason(code))")
        }
        return file
      }
      var isWhole = false
      defer {
        if let file { close(file) }
        // A part would look like an export, and keep the next one from the name.
        if let output, !isWhole { unlink(output) }
      }
      var cursor: ExportRecords.Cursor?
      var users = 0
      repeat {
        let piece = try await context.call(
          ExportRecords.self, ExportRecords.Input(domain: domain, cursor: cursor))
        guard Files.writeAll(Array(piece.xml.utf8), to: file ?? STDOUT_FILENO) else {
          throw StartupError("the export cannot be written: \(Files.reason(errno))")
        }
        if piece.endsUser { users += 1 }
        cursor = piece.next
      } while cursor != nil
      isWhole = true
      Terminal.note("\(ProgressBar.counted(users, "users")) exported.")
    }
  }
}
