/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum StorageLimits {
  /// The disk space that files leave to the database, in bytes; below it slots and uploads are refused with
  /// `disk-full`.
  static let diskReserveBytes: Int64 = 64 * 1_048_576
  /// The bounds of the program that shrinks pictures: memory for the largest (`Limits.picturePixelsMax`) decoded as a
  /// whole, seconds of processor time, length of a file in bytes. At a bound the program ends, and the picture has no
  /// thumbnail.
  static let pictureBounds = ChildProgram.Bounds(
    memory: 1_024 * 1_048_576, seconds: 10, fileBytes: 8 * 1_048_576)
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
}
