/// The file that `ejabberdctl dump` writes of an ejabberd that keeps its data in Mnesia, its own database: all tables as
/// terms.
struct EjabberdDump: ImportSource {
  private let path: String

  init(_ path: String) { self.path = path }

  func check() throws(SourceFailure) { try SourcePath.check(path, EjabberdSource.expected) }

  var places: String { "the tables of ejabberd in \(path)" }

  func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    try EjabberdReader(TermFile(path), kinds)
  }
}

/// A file of terms, read one at a time.
final class TermFile {
  private let lines: LineFile
  var path: String { lines.path }
  var fraction: Double { lines.fraction }

  init(_ path: String) throws(SourceFailure) { lines = try LineFile(path) }

  enum Next {
    case term(ErlangTerm, line: Int)
    case flaw(line: Int, String)
  }

  /// Returns the next term; `nil` at the end. A term ends with a line that ends with `}.`: no text goes over the end of
  /// its line.
  func next() throws(SourceFailure) -> Next? {
    var bytes: [UInt8] = []
    let first = lines.line
    while let text = try lines.next() {
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
}
