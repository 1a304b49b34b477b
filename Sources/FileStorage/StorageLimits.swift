/// Every bound of this target: its number, why, and what happens at it.
enum StorageLimits {
  /// Bytes of the disk that files leave to the database: below it slots and uploads are refused with `disk-full`.
  static let diskReserveBytes: Int64 = 64 * 1_048_576
  /// What a program that makes a picture smaller may use: memory for the largest (`Limits.picturePixelsMax`) decoded whole,
  /// seconds of the processor, bytes of a file. At a bound it ends, and the picture has no thumbnail.
  static let pictureBounds = ChildProgram.Bounds(
    memory: 1_024 * 1_048_576, seconds: 10, fileBytes: 8 * 1_048_576)
  static let pictureTime: Duration = .seconds(15)
  static let pictureOutputBytesMax = 1_048_576
  /// Bytes of a file that go to a scanner in one piece, and bytes of its answer.
  static let scanPieceBytes = 65_536
  static let scanAnswerBytesMax = 4_096
  /// Bytes of an object that are read by one request: a request costs some milliseconds.
  static let bucketPieceBytes = 1_048_576
  /// Slower than so many bytes a second a bucket is broken, and the upload fails.
  static let bucketBytesPerSecond: Int64 = 262_144
  /// How often a bucket is asked the same, and the pause before the second time, doubled each time: 0.2, 0.4 and 0.8 s.
  static let bucketAttempts = 4
  static let bucketPauseMicroseconds: UInt32 = 200_000
}
