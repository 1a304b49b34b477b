import Administration
import ArgumentParser
import Basics
import ServerConfiguration

struct BackupData: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies the database into a new file, while the server goes on.",
    discussion: """
      The file is one consistent copy that needs no other file beside it, readable for its owner alone. The running \
      server writes it: the folder must be one that the server may write to. To restore it, stop the server and put \
      it in the place of <data>/parley.db (docs/operations.md). Files of users are not in it: copy <data>/blobs after it, \
      in any way, while the server goes on.

      Examples:
        parley backup backup.db
        parley backup "backup-$(date +%F).db" --json
      """)

  @Argument(help: "The file to make.", completion: .file(extensions: ["db"])) var file: String
  @OptionGroup var options: CommandOptions

  func run() async throws {
    try await options.withData { context in
      let path = Files.absolute(file)
      let watch = Task { await Self.show(path + ".part", of: context.settings.data + "/parley.db") }
      defer { watch.cancel() }
      let made = try await context.call(Backup.self, Backup.Input(path: path))
      watch.cancel()
      _ = await watch.value
      try options.output.print(made, "\(made.path): \(ProgressBar.grouped(Int(made.bytes))) bytes.")
    }
  }

  /// Shows a progress bar on a terminal: the copy's size relative to the database's, which it rarely reaches, since
  /// free pages are omitted.
  private static func show(_ path: String, of database: String) async {
    guard Terminal.errorIsTerminal else { return }
    var bar = ProgressBar("KiB")
    var drawn = false
    while (try? await Task.sleep(for: .milliseconds(200))) != nil {
      guard let done = Files.size(path), let all = Files.size(database), all > 0 else { continue }
      let fraction = min(0.99, Double(done) / Double(all))
      if let text = bar.update(done: Int(done >> 10), fraction: fraction) {
        Terminal.replaceLine(text)
        drawn = true
      }
    }
    if drawn { Terminal.replaceLine("") }
  }
}
