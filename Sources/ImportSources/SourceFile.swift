import Basics
import Glibc

/// The bytes of an uploaded file, a piece at a time.
public final class SourceFile {
  private let path: String
  private let file: Int32

  /// Opens a file, but no link: that may lead to what the former server itself could not read.
  public init(_ path: String) throws(SourceFailure) {
    self.path = path
    file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw SourceFailure(Place(file: path), "it cannot be read: \(Files.reason(errno))") }
  }

  deinit { close(file) }

  /// Returns the next bytes; fewer than `count` only at the end of the file.
  public func next(_ count: Int) throws(SourceFailure) -> [UInt8] {
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let got = read(file, buffer.baseAddress?.advanced(by: initialized), count - initialized)
        if got < 0, errno == EINTR { continue }
        if got < 0 { code = errno }
        if got <= 0 { break }
        initialized += got
      }
    }
    if code != 0 { throw SourceFailure(Place(file: path), "it cannot be read: \(Files.reason(code))") }
    return bytes
  }
}
