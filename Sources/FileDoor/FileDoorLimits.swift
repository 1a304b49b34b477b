/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum FileDoorLimits {
  /// The length of the chunks in which a file is sent, in bytes: large enough that system calls cost little.
  static let pieceBytes = 131_072
}
