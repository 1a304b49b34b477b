import Basics
import Glibc

/// A folder of another server.
enum SourceFolder {
  /// Returns the names of its entries in their order.
  static func names(in folder: String) throws(SourceFailure) -> [String] {
    guard let entries = opendir(folder) else {
      throw SourceFailure(Place(file: folder), "it cannot be read: \(Files.reason(errno))")
    }
    defer { closedir(entries) }
    var names: [String] = []
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Returns the size and the time of change, in milliseconds, of a file; `nil` if there is none, or a link in its place: a
  /// link may lead to what the former server itself could not read.
  static func file(_ path: String) -> (size: Int64, time: Int64)? {
    var found = stat()
    guard lstat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG else { return nil }
    return (Int64(found.st_size), Int64(found.st_mtim.tv_sec) * 1_000 + Int64(found.st_mtim.tv_nsec) / 1_000_000)
  }
}
