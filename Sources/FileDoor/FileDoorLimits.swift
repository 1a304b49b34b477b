import Dialogs

/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum FileDoorLimits {
  /// The length of the chunks in which a file is sent, in bytes: large enough that system calls cost little,
  /// small enough that many downloads at a time take little memory, as each keeps a chunk or two while its client reads.
  static let pieceBytes = 32_768
  /// The rate at which one address asks for paths without a route, each of which is looked up in the store as that of a file from
  /// another server: pictures of an old conversation, of many people behind one address, which clients keep; 429 above it.
  static let formerRate = Rate(burst: 500, perSecond: 50)
}
