import XMLStream

/// The bounds of this target, each with its reason and the behaviour when it is reached.
package enum StorageLimits {
  /// The disk space that files leave to the database, in bytes; below it slots and uploads are refused with
  /// `disk-full`.
  static let diskReserveBytes: Int64 = 64 * 1_048_576
  /// The bounds of the program that shrinks pictures: memory, seconds of processor time, length of a file in bytes, niceness. At a bound
  /// the program ends, and the picture has no thumbnail. On a busy processor it has a tenth of what a thread of the server has: messages
  /// do not wait for pictures.
  ///
  /// The program's memory is a quarter of the server's. The most suffices for the largest picture (`Limits.picturePixelsMax`) decoded as a
  /// whole, and the least for a photo of 12 megapixels in every form: of the least, the program and its libraries take some 220 MiB of
  /// addresses, few of which are in memory.
  ///
  /// - Parameter memory: The bytes that the server may use (`AllowedMemory`).
  static func pictureBounds(memory: Int) -> ChildProgram.Bounds {
    ChildProgram.Bounds(
      memory: min(max(memory / 4, 320 << 20), 1_024 << 20), seconds: 10, fileBytes: 8 * 1_048_576, niceness: 10)
  }
  /// The number of such programs at a time, which together have half of the memory that the server may use; further files wait.
  static func picturesAtOnce(memory: Int) -> Int { max(memory / 2 / pictureBounds(memory: memory).memory, 1) }
  static let pictureTime: Duration = .seconds(15)
  static let pictureOutputBytesMax = 1_048_576
  /// The length of the chunks sent to a scanner and of its answer, in bytes.
  static let scanPieceBytes = 65_536
  static let scanAnswerBytesMax = 4_096
  /// The length of an object's range per request, in bytes: a request costs some milliseconds.
  static let bucketPieceBytes = 1_048_576
  /// The minimum rate of a bucket in bytes per second; a slower upload fails.
  static let bucketBytesPerSecond: Int64 = 262_144
  /// The number of attempts of a request to a bucket, and the pause before the second, doubled each time: 0.2, 0.4 and
  /// 0.8 s.
  static let bucketAttempts = 4
  static let bucketPauseMicroseconds: UInt32 = 200_000
  /// The same for backups, whose copy would be lost with a request: the pauses add up to 25 s.
  static let backupAttempts = 8
  /// The parts of a multipart upload, of which two are in memory: S3 allows 10,000 of at least 5 MiB, except the last.
  /// Parts of 8 MiB reach to 78 GiB; a longer object has larger parts, up to 625 GiB, and beyond that fails.
  static let partBytes = 8 * 1_048_576
  static let partBytesMax = 64 * 1_048_576
  static let partsMax = 10_000
  /// The bytes of an object that a request reads where all of it is wanted.
  package static let readBytes = 4 * 1_048_576
  /// The time for a service to make an object of its parts: S3 says that it may take minutes.
  static let completionTime: Duration = .seconds(600)
  /// The keys in one answer that lists a bucket, and the answer's bytes: keys have at most 1,024 (S3), ours 80.
  static let listedKeys = 1_000
  static let listBytesMax = 4 * 1_048_576
  /// The bounds of the XML in answers, whose structure is flat.
  static let listing = ReaderLimits(
    stanzaBytes: listBytesMax, headerBytes: 4_096, depth: 16, attributes: 16, nameBytes: 128, namespaceBytes: 512,
    declarations: 16)
}
