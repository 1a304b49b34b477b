import Basics
import Glibc

/// The path of a source, as an operator has typed it.
enum SourcePath {
  /// Checks that there is a file, or a folder, that can be read.
  ///
  /// - Parameter expected: What the path is to name.
  static func check(_ path: String, isFolder: Bool = false, _ expected: String) throws(SourceFailure) {
    let place = Place(file: path)
    let isMissing: Bool
    do throws(Files.Failure) { isMissing = try Files.isMissing(path) } catch {
      throw unreadable(place, error.code)
    }
    if isMissing { throw SourceFailure(place, "there is no such file or folder; \(expected) is expected") }
    if (Files.status(path)?.isFolder ?? isFolder) != isFolder {
      throw SourceFailure(place, "it is \(isFolder ? "no" : "a") folder; \(expected) is expected")
    }
    if access(path, R_OK) != 0 { throw unreadable(place, errno) }
  }

  /// Returns the failure by the meaning of `errno`: the data of the former server is its own user's.
  static func unreadable(_ place: Place, _ code: Int32) -> SourceFailure {
    let remedy = code == EACCES ? "; repeat the command as root, who may read it: sudo parley import ..." : ""
    return SourceFailure(place, "it cannot be read: \(Files.reason(code))\(remedy)")
  }

  /// Returns the first bytes of a file; zeros where there are none.
  static func beginning(of path: String) -> [UInt8] {
    var start = [UInt8](repeating: 0, count: 256)
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return start }
    _ = read(file, &start, start.count)
    close(file)
    return start
  }

  /// Whether a file begins as a SQLite database does (https://www.sqlite.org/fileformat.html, 1.3).
  static func isDatabase(_ path: String) -> Bool { beginning(of: path).starts(with: "SQLite format 3".utf8) }
}
