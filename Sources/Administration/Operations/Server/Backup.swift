import Basics
package import Dialogs
import Glibc

/// Writes a consistent copy of the database while the server runs.
package enum Backup: AdminOperation {
  package static let name = "backup"

  package struct Input: Codable, Sendable {
    /// An absolute path, since server and command may have different working directories.
    let path: String
    package init(path: String) { self.path = path }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let path: String
    package let bytes: Int64
  }

  /// The time for a large database, minutes and more.
  package static let answerWait = AdminLimits.backupWait

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    guard input.path.hasPrefix("/"), !input.path.contains("\0") else {
      throw Problem(.malformed, "path-relative", "The path of a backup begins with a slash.", field: "path")
    }
    if Files.exists(input.path) { throw refused(input.path, EEXIST) }
    // The copy has another name until it is complete, so that a file of the given name is always a backup. The file is
    // created here, readable for its owner only; the engine fills an empty file.
    let part = input.path + ".part"
    unlink(part)
    let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw refused(input.path, errno) }
    defer {
      close(file)
      unlink(part)
    }
    try await context.parley.copy(to: part)
    let bytes = lseek(file, 0, SEEK_END)
    guard fsync(file) == 0, bytes >= 0, link(part, input.path) == 0 else {
      throw refused(input.path, errno)
    }
    // The name must be as durable as the content.
    guard syncFolder(of: input.path) else { throw refused(input.path, errno) }
    return Output(path: input.path, bytes: Int64(bytes))
  }

  private static func refused(_ path: String, _ code: Int32) -> Problem {
    code == EEXIST
      ? Problem(.conflict, "file-exists", "\(path) is there already.", field: "path")
      : Problem(.conflict, "file-refused", "\(path) cannot be made: \(Files.reason(code)).", field: "path")
  }

  private static func syncFolder(of path: String) -> Bool {
    let end = path.lastIndex(of: "/") ?? path.startIndex
    let folder = open(end == path.startIndex ? "/" : String(path[..<end]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return false }
    defer { close(folder) }
    return fsync(folder) == 0
  }
}
