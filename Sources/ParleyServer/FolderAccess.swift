import Basics
import Glibc
import ServerConfiguration

/// Whether a user may open what is in a data folder. What commands of root create there belongs to the folder's owner
/// (`Files.create`); this is about what has come in another way, such as a copy of root, or a folder of which only the
/// owner was changed.
extension DataFolder {
  /// The files that the server opens, by their names in the folder, and whether it writes to the file itself. Other files are only read,
  /// and replaced by renaming, which the folder must permit. What is not named here belongs to the operator.
  private static let opened = [
    "lock": true, "parley.db": true, "parley.db-wal": true, "parley.db-shm": true, "accounts.key": false,
    "tokens.key": false, "webpush.key": false, "tls": false, "blobs": false,
  ]

  /// Returns the paths that the server must open and a user may not, in the order of their names.
  ///
  /// - Parameters:
  ///   - unused: The names in the folder that the server does not open with its configuration.
  ///   - isWhole: Whether users' files are judged, too, which may be many; else only their folders are.
  ///   - may: Whether the user has a right to a path.
  static func closed(
    in folder: String, unused: Set<String> = [], isWhole: Bool, may: (SystemUser.Right, String) -> Bool
  ) -> [String] {
    var found: [String] = []
    var left = ServerLimits.filesJudgedMax
    func judge(_ path: String, writes: Bool, isShard: Bool) {
      guard left > 0, let status = Files.status(path) else { return }
      left -= 1
      if status.isFolder {
        guard may(.read, path), may(.write, path), may(.enter, path) else { return found.append(path) }
        if isShard, !isWhole { return }
        for name in Folder.names(path).sorted() {
          judge(path + "/" + name, writes: false, isShard: path == folder + "/blobs")
        }
      } else if !may(.read, path) || writes && !may(.write, path) {
        found.append(path)
      }
    }
    for (name, writes) in opened.sorted(by: { $0.key < $1.key }) where !unused.contains(name) {
      judge(folder + "/" + name, writes: writes, isShard: false)
    }
    return found
  }

  /// Returns the first of some paths, and the number of the others.
  static func listed(_ paths: [String]) -> String {
    let shown = paths.prefix(ServerLimits.closedFilesShown).joined(separator: ", ")
    let more = paths.count - ServerLimits.closedFilesShown
    return more > 0 ? "\(shown) and \(more) more" : shown
  }

  /// Returns the command that gives a data folder to a user.
  static func givingAway(_ folder: String, to user: SystemUser) -> String {
    "sudo chown -R \(user.account) \(folder)"
  }

  /// Returns the command that creates a folder for a user.
  static func creating(_ folder: String, for user: SystemUser) -> String {
    "sudo install -d -o \(user.account) -m 0700 \(folder)"
  }

  /// Returns what to do about a path in a data folder that is closed to the user of this process, for the end of an error;
  /// nothing if the error has another reason.
  static func remedy(_ code: Int32, _ path: String, in folder: String) -> String {
    guard code == EACCES, let owner = SystemUser.owner(of: path) else { return "" }
    let user = SystemUser.current
    if owner.id == user.id { return "; \(path) belongs to \(user.name), and its mode forbids it: chmod u+rwX \(path)" }
    let giving = givingAway(folder, to: user)
    let runner = SystemUser.owner(of: folder).flatMap { $0.id == user.id ? nil : $0 }
    // The folder of a service's user stays that user's. That of root may have been created by mistake.
    if let runner, runner.id != 0 {
      return "; \(path) belongs to \(owner.name), and this process runs as \(user.name): "
        + "run it as \(runner.account) (sudo -u \(runner.account))"
    }
    return "; \(path) belongs to \(owner.name), and this process runs as \(user.name): "
      + (runner.map { "run it as \($0.account) (sudo -u \($0.account)), or \(giving)" } ?? giving)
  }

  func explained(_ error: StartupError) -> StartupError { Self.explained(error, in: path) }

  /// Returns an error about what is in a data folder, with the files that are closed to the user of this process: these
  /// are most often its cause, which the database calls unable to open.
  static func explained(_ error: StartupError, in folder: String) -> StartupError {
    let closed = Self.closed(in: folder, isWhole: false) { right, path in
      let mode = right == .read ? R_OK : right == .write ? W_OK : X_OK
      return access(path, mode) == 0 || errno != EACCES
    }
    guard let first = closed.first else { return error }
    return StartupError(
      lines: error.lines + ["\(listed(closed)) cannot be opened" + remedy(EACCES, first, in: folder)], error.status)
  }
}
