import Administration
import ArgumentParser
import Basics
import ParleyServer
import ServerConfiguration

struct BackupData: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies the database, and users' files with it, while the server runs.",
    discussion: """
      The copy of the database is one complete and consistent file that only its owner can read. The running server writes \
      it, so the server must have write access to the folder.

      With --files the backup is a folder, to which a database, parley-<time>.db, and the files of users that it names are \
      added. Files that the folder has already are not copied again, since files never change. Then all but the newest \
      databases (--keep) are deleted, with the files that only the deleted ones name. The settings backup.* make the server \
      do all this regularly.

      With --s3 the database and the files are copied to the bucket of backup.s3. The server copies the database into its \
      data folder first and uploads it from there. An interrupted backup is not usable: the next one deletes its remains. A \
      backup that the server makes by itself is continued.

      parley restore restores each of them. With --list no backup is made: the backups in the folder or bucket are listed, \
      and everything else in it.

      Examples:
        parley backup backup.db
        parley backup "backup-$(date +%F).db" --json
        parley backup --files backups --keep 7
        parley backup --list backups
      """)

  @Argument(help: "The file to create; with --files the folder.", completion: .file(extensions: ["db"]))
  var path: String?
  @Flag(name: .long, help: "Copies users' files, too.") var files = false
  @Flag(name: .customLong("s3"), help: "Adds the backup to the bucket of the configuration, with users' files.")
  var isInBucket = false
  @Option(name: .long, help: "With --files or --s3: the number of databases to keep.") var keep = 1
  @Flag(name: .long, help: "Lists the existing backups.") var list = false
  @OptionGroup var options: CommandOptions

  func validate() throws {
    if path == nil, !isInBucket {
      throw ValidationError("a path is expected; or --s3, if backup.s3 or uploads.s3 names a bucket")
    }
    if path != nil, isInBucket { throw ValidationError("a path and --s3 exclude each other") }
    if list, files { throw ValidationError("--list cannot be combined with --files") }
  }

  func run() async throws {
    if list { return try show() }
    try await options.withData { context in
      guard let path else {
        let made = try await context.call(Backup.self, Backup.Input(path: nil, files: true, keep: keep))
        return try options.output.print(made, Self.text(made))
      }
      let target = Files.absolute(path)
      let database = context.settings.map { $0.data + "/parley.db" }
      let watch = Task { if !files, let database { await Self.show(target + ".part", of: database) } }
      defer { watch.cancel() }
      let made = try await context.call(Backup.self, Backup.Input(path: target, files: files, keep: keep))
      watch.cancel()
      _ = await watch.value
      if (try? Files.isMissing(made.path)) == true {
        throw StartupError(
          "the server has written \(made.path), but no other process sees it: a server under systemd has a /tmp and a "
            + "/var/tmp of its own (PrivateTmp=), deleted when it stops; name another folder")
      }
      try options.output.print(made, Self.text(made))
    }
  }

  private func show() throws {
    try options.remote.refuse(options.configuration)
    let found =
      try path.map { try BackupList.ofFolder(Files.absolute($0)) }
      ?? BackupList.ofBucket(options.configuration.settings())
    let rows = found.rows
    var table = TextTable("Backup", "Made at", "Bytes", "Files")
    for row in rows {
      table.add([
        row.name, row.createdAt?.description ?? "", ProgressBar.grouped(Int(row.databaseBytes)),
        row.files.map { ProgressBar.grouped($0) } ?? "",
      ])
    }
    try options.output.print(rows, rows.isEmpty ? "There is no backup." : table.text())
    for line in found.leftOut { Terminal.note("left out: \(Line.safe(line))") }
  }

  private static func text(_ made: Backup.Output) -> String {
    var lines = ["\(made.path): \(ProgressBar.grouped(Int(made.bytes))) bytes."]
    if let files = made.files {
      lines.append(
        "Files of users: \(files.named), of which \(files.copied) were copied now "
          + "(\(ProgressBar.grouped(Int(files.copiedBytes))) bytes).")
      if files.missing > 0 { lines.append("\(files.missing) were deleted during the backup.") }
      if files.removed + files.removedDatabases > 0 {
        lines.append("Removed \(files.removedDatabases) older databases and \(files.removed) files that none names.")
      }
    }
    return lines.joined(separator: "\n")
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
