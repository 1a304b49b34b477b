import Basics
import Glibc

/// A text file that is read a line at a time.
final class LineFile {
  let path: String
  /// The number of the next line, from 1.
  private(set) var line = 1
  private let size: Int64
  private var bytesRead: Int64 = 0
  private let file: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var isEnded = false

  init(_ path: String) throws(SourceFailure) {
    self.path = path
    file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw SourceFailure(Place(file: path), "it cannot be read: \(Files.reason(errno))") }
    size = Int64(max(0, lseek(file, 0, SEEK_END)))
    lseek(file, 0, SEEK_SET)
  }

  deinit { close(file) }

  var fraction: Double { size > 0 ? Double(bytesRead) / Double(size) : 1 }

  /// Returns the next line without its end; `nil` at the end of the file.
  func next() throws(SourceFailure) -> ArraySlice<UInt8>? {
    // Bytes that have no end of line in them are looked at once.
    var searched = start
    while true {
      let found = buffer.withUnsafeBytes { bytes -> Int? in
        guard let base = bytes.baseAddress else { return nil }
        return memchr(base + searched, 0x0A, bytes.count - searched).map { UnsafeRawPointer($0) - base }
      }
      if let end = found {
        defer { start = end + 1 }
        line += 1
        return buffer[start..<end]
      }
      if isEnded {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return buffer[start...]
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      guard buffer.count <= ImportLimits.elementBytesMax else {
        throw SourceFailure(
          Place(file: path, line: line), "a line is larger than \(ImportLimits.elementBytesMax) bytes")
      }
      var chunk = [UInt8](repeating: 0, count: ImportLimits.chunkBytes)
      let count = read(file, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw SourceFailure(Place(file: path), "it cannot be read: \(Files.reason(errno))")
      }
      isEnded = count == 0
      bytesRead += Int64(count)
      buffer += chunk[..<count]
    }
  }
}
