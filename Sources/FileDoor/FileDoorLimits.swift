/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum FileDoorLimits {
  /// The length of the chunks in which a file is sent, in bytes: large enough that system calls cost little,
  /// small enough that many downloads at a time take little memory, as each keeps a chunk or two while its client reads.
  static let pieceBytes = 32_768
}
