/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum ImportLimits {
  /// The bytes of a file that are parsed at a time.
  static let chunkBytes = 65_536
  /// The bytes of text and names in one element that is read whole, such as a vCard, a message or an item: several
  /// times what any server accepts in a stanza. A larger one is reported and left out.
  static let elementBytesMax = 8 * 1_048_576
  /// The elements within such an element.
  static let elementNodesMax = 100_000
  /// The depth of elements within such an element; libxml2 itself refuses more than 256 in all.
  static let elementDepthMax = 100
  /// The bytes of one file of Prosody, which is read whole: an archive has 10,000 messages there unless configured
  /// otherwise. A larger file is reported and left out.
  static let luaFileBytesMax = 512 * 1_048_576
  /// The values of one table or item in such a file, and how deep tables may be nested (Prosody writes 127 at most).
  static let luaValuesMax = 1_000_000
  static let luaDepthMax = 128
  /// The bytes of one user's nodes, which are held until their configurations are known. Further items are reported and
  /// left out.
  static let pubsubBytesMax = 64 * 1_048_576
  /// The files that include each other: one for a server, a host, a user, and one beside. Beyond it the include is
  /// reported and left out.
  static let includeDepthMax = 4
  /// The memory in which messages are sorted by time. Pieces of this size are merged from a temporary file, 16 at a time, so
  /// archives of 4 GB are written once more than they are sorted; with SQLite's own 2 MB it would be twice more.
  static let sortingKibibytes = 16_384
  /// The milliseconds by which the times of two copies of one message may differ: servers store both within one
  /// routing, and some in whole seconds.
  static let copyWindowMilliseconds: Int64 = 5_000
  /// The messages of that window in memory. Beyond it the oldest is taken as it is.
  static let copyWindowMax = 100_000
  /// The equal messages of that window that wait for their other copies, each of which is compared with every further one.
  /// Beyond it the oldest waits no longer: its other copy becomes a message of its own.
  static let copiesAlikeMax = 1_000
  /// The rooms of one source, whose configurations are held until their first messages are known. Further ones are
  /// reported and left out.
  static let roomsMax = 100_000
}
