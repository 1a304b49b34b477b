import Basics
import Dialogs
import Glibc

/// Makes pictures smaller with `vipsthumbnail` of libvips, one process per picture. Loaders that libvips marks as not made
/// for files of strangers are off; the kind of a picture is known by its first bytes before it is asked.
struct VipsPictures: PictureShrinker {
  private let program: String
  /// Where a picture that is in memory is written for the program to read.
  private let folder: String

  /// nil: there is no such program here.
  init?(folder: String) {
    guard let program = ChildProgram.find(Self.name) else { return nil }
    self.program = program
    self.folder = folder
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
      // What shows through is white: a JPEG has no transparency.
      case .jpeg: ".jpg[Q=75,strip,background=255]"
      case .png: ".png[strip]"
      }
    let program = ChildProgram(
      arguments: [
        program, "stdin", "--size", "\(side)x\(side)>", "--vips-concurrency=1", "--vips-novector",
        "--vips-disc-threshold=2g", "-o",
        output,
      ],
      environment: ["VIPS_BLOCK_UNTRUSTED=1", "LC_ALL=C", "PATH=/usr/bin:/bin", "MALLOC_ARENA_MAX=1"],
      bounds: StorageLimits.pictureBounds)
    guard
      case .ended(status: 0, let bytes) = program.run(
        input: input, outputMax: StorageLimits.pictureOutputBytesMax, time: StorageLimits.pictureTime),
      !bytes.isEmpty
    else { return nil }
    return bytes
  }

  /// A file without a name, which goes with its descriptor; below zero: there is none.
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
