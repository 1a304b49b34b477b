import Basics
import Dialogs
import Glibc

/// Shrinks pictures with `vipsthumbnail` of libvips, one process per picture. Loaders that libvips considers unsafe for
/// untrusted files are off, and a picture's type is checked by its first octets beforehand.
struct VipsPictures: PictureShrinker {
  private let program: String
  /// The folder for temporary files with pictures from memory.
  private let folder: String
  private let bounds: ChildProgram.Bounds

  /// Returns nil if the program is not installed.
  ///
  /// - Parameter memory: The bytes that the server may use.
  init?(folder: String, memory: Int) {
    guard let program = ChildProgram.find(Self.name) else { return nil }
    self.program = program
    self.folder = folder
    bounds = StorageLimits.pictureBounds(memory: memory)
  }

  static let name = "vipsthumbnail"

  func shrunk(_ picture: PictureSource, side: Int, as form: PictureForm) -> [UInt8]? {
    let input: Int32
    switch picture {
    case .file(let path): input = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    case .bytes(let bytes): input = temporary(bytes)
    }
    guard input >= 0 else { return nil }
    defer { close(input) }
    let output =
      switch form {
      // JPEG has no transparency; transparent pixels become white.
      case .jpeg: ".jpg[Q=75,strip,background=255]"
      case .png: ".png[strip]"
      }
    let program = ChildProgram(
      arguments: [
        program, "stdin", "--size", "\(side)x\(side)>", "--vips-concurrency=1", "--vips-novector",
        "--vips-disc-threshold=2g", "-o",
        output,
      ],
      // A thread for each processor would need more addresses for its stack than the program has where there are many.
      environment: [
        "VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=2", "LC_ALL=C", "PATH=/usr/bin:/bin", "MALLOC_ARENA_MAX=1",
      ],
      bounds: bounds)
    guard
      case .ended(status: 0, let bytes) = program.run(
        input: input, outputMax: StorageLimits.pictureOutputBytesMax, time: StorageLimits.pictureTime),
      !bytes.isEmpty
    else { return nil }
    return bytes
  }

  /// Returns the descriptor of an unlinked temporary file with these bytes; negative on failure.
  private func temporary(_ bytes: [UInt8]) -> Int32 {
    var path = Array("\(folder)/picture-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { return -1 }
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    unlink(path)
    guard Files.writeAll(bytes, to: file), lseek(file, 0, SEEK_SET) == 0 else {
      close(file)
      return -1
    }
    return file
  }
}
