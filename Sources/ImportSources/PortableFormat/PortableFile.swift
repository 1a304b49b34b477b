import Basics
import Glibc

/// One file of a portable export that is being read: its events in order.
final class PortableFile {
  /// The path as it is shown.
  let name: String
  /// The folder by which its includes are found.
  let folder: String
  let size: Int64
  private(set) var bytesRead: Int64 = 0
  private let file: Int32
  private let events = XMLEvents()
  private var isBegun = false
  private var isEnded = false
  private var problem: String?

  init(_ path: String) throws(SourceFailure) {
    name = path
    folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw SourceFailure(Place(file: path), "it cannot be read: \(Files.reason(errno))") }
    size = Int64(max(0, lseek(file, 0, SEEK_END)))
    lseek(file, 0, SEEK_SET)
  }

  deinit { close(file) }

  /// The line of what is parsed, which may be a chunk ahead of what was taken.
  var line: Int { events.line }

  /// Returns the next event; `nil` at the end.
  func next() throws(SourceFailure) -> XMLEvents.Event? {
    while true {
      if let event = events.next() {
        isBegun = true
        return event
      }
      if let problem {
        throw SourceFailure(
          Place(file: name, line: line), isBegun ? problem : "\(problem); \(PortableSource.expected) is expected")
      }
      if isEnded { return nil }
      let chunk = try read()
      isEnded = chunk.isEmpty
      problem = events.parse(chunk)
    }
  }

  private func read() throws(SourceFailure) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: ImportLimits.chunkBytes)
    while true {
      let count = Glibc.read(file, &chunk, chunk.count)
      if count >= 0 {
        bytesRead += Int64(count)
        return Array(chunk[..<count])
      }
      if errno != EINTR { throw SourceFailure(Place(file: name), "it cannot be read: \(Files.reason(errno))") }
    }
  }
}
