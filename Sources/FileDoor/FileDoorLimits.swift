/// Every bound of this target: its number, why, and what happens at it.
enum FileDoorLimits {
  /// Bytes of a file in memory while it is given out: large enough that the system's calls cost little beside the bytes.
  static let pieceBytes = 131_072
}
