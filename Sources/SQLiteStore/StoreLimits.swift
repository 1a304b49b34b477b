/// The bounds of this target: each number, why, and what happens at it.
public enum StoreLimits {
  /// Users whose address is kept in memory, about 150 bytes each. At the bound
  /// the cache starts anew.
  static let cachedPartiesMax = 20_000
  /// The same for rooms.
  static let cachedRoomsMax = 20_000

  /// Bytes in the write-ahead log at which it is copied into the database.
  /// Smaller copies hot pages more often (measured: 8 MiB costs twice the CPU of
  /// 32 MiB per message, 64 MiB no less than 32).
  public static let walBytesCheckpoint: Int64 = 32 << 20
  /// At most this much of the file stays on disk after it was longer (a large
  /// import, a reader that stood in the way).
  static let walBytesKept: Int64 = 64 << 20
  /// How long the committer may be held up by readers while the write-ahead log
  /// is started anew, in milliseconds. When that is not enough the log grows,
  /// and it is tried again after the next commit.
  static let walRestartPatience: Int32 = 50

  /// Bytes that are gathered before they are written to the write-ahead log. The
  /// engine's own file layer writes less than 128 KiB at once.
  static let gatheredBytesMax = 96 << 10

  /// Entries, dialogs, rooms or users in one answer, whatever was asked for: about 20 MB.
  static let rowsMax = 20_000

  /// Words of one message that are found; the rest of a longer one is not.
  static let searchTokensMax = 4_096
  /// Words of a query that count: each is a look at an index. Further ones are left out.
  static let searchWordsMax = 32
  /// Rooms that are searched at once: each is one more look at the index.
  static let searchScopesMax = 100

  /// Ids of messages that gather in the small table, about 20 bytes each: then a slice of them moves on with each one more that
  /// a slice has. More would spread a commit over more pages, less would move fewer neighbours at once.
  static let freshOriginsMax: Int64 = 16_384
  /// Ids that move on at once: two milliseconds of the committer.
  static let originsSlice: Int64 = 2_048

  /// Messages of one dialog whose ids have the same 32-bit hash and are looked
  /// at, newest first. More would mean that somebody makes collisions, and hides
  /// but their own messages.
  static let sameHashMax = 16
}
