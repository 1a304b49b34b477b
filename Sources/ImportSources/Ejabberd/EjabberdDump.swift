import Basics
import Glibc

/// The file that `ejabberdctl dump` writes of an ejabberd that keeps its data in Mnesia, its own database: all tables as
/// terms.
public struct EjabberdDump: ImportSource {
  private let path: String

  public init(_ path: String) { self.path = path }

  public func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    try EjabberdReader(TermFile(path), kinds)
  }
}

/// A file of terms, read one at a time.
final class TermFile {
  let path: String
  private let size: Int64
  private var bytesRead: Int64 = 0
  private let file: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var line = 1
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

  enum Next {
    case term(ErlangTerm, line: Int)
    case flaw(line: Int, String)
  }

  /// Returns the next term; `nil` at the end. A term ends with a line that ends with `}.`: no text goes over the end of
  /// its line.
  func next() throws(SourceFailure) -> Next? {
    var bytes: [UInt8] = []
    let first = line
    while let text = try nextLine() {
      let isEnd = text.suffix(2).elementsEqual("}.".utf8)
      if bytes.count <= ImportLimits.elementBytesMax {
        bytes += text
        bytes.append(0x0A)
      }
      guard isEnd else { continue }
      guard bytes.count <= ImportLimits.elementBytesMax else {
        return .flaw(line: first, "it is larger than \(ImportLimits.elementBytesMax) bytes")
      }
      do throws(ErlangFlaw) {
        var parser = ErlangParser(bytes)
        return .term(try parser.term(), line: first)
      } catch {
        return .flaw(line: first + error.line, error.text)
      }
    }
    let isBlank = bytes.allSatisfy { $0 == 0x0A || $0 == 0x20 }
    return isBlank ? nil : .flaw(line: first, "it ends within a term")
  }

  private func nextLine() throws(SourceFailure) -> ArraySlice<UInt8>? {
    while true {
      if let end = buffer[start...].firstIndex(of: 0x0A) {
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
