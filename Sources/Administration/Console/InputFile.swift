package import Basics
import Glibc
package import ServerConfiguration

/// An input file that a command reads in chunks; `-` is standard input.
package final class InputFile {
  private let path: String
  private let file: Int32
  /// The file's size in bytes; nil if it is unknown.
  package let size: Int64?

  package init(_ path: String) throws(StartupError) {
    self.path = path
    if path == "-" {
      file = STDIN_FILENO
      size = nil
      return
    }
    file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw StartupError("\(path) cannot be read: \(Files.reason(errno))") }
    let end = lseek(file, 0, SEEK_END)
    size = end > 0 ? Int64(end) : nil
    lseek(file, 0, SEEK_SET)
  }

  deinit { if file != STDIN_FILENO { close(file) } }

  /// Returns the next chunk, empty at the end.
  package func next() throws(Files.Failure) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(file, &chunk, chunk.count)
      if count >= 0 { return Array(chunk[..<count]) }
      if errno != EINTR { throw Files.Failure(path: path, code: errno) }
    }
  }
}
