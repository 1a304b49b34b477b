/// The bounds of this target. Each states its number, its reason and what happens at it.
public enum StoreLimits {
  /// The bytes of the users whose address is kept in memory: some 25,000 with 150 bytes each, or fewer with longer addresses. At the
  /// bound the cache is emptied.
  static let cachedPartiesBytesMax = 4 << 20
  /// The same for rooms.
  static let cachedRoomsBytesMax = 4 << 20

  /// The bytes in the write-ahead log at which it is copied into the database. A smaller bound copies hot pages more
  /// often (measured: 8 MiB costs twice the CPU of 32 MiB per message, 64 MiB no less than 32).
  public static let walBytesCheckpoint: Int64 = 32 << 20
  /// The same where a replicator is to copy the log (`SQLiteStore.Options.isReplicated`), which is four times as long as it
  /// should need. Beyond it the log is restarted without it, so that it begins with a copy of the whole database again.
  public static let walBytesReplicated: Int64 = 128 << 20
  /// The bytes of the log file that stay on disk after it was longer (a large import, a reader that stood in the way).
  static let walBytesKept: Int64 = 64 << 20
  /// The time for which the committer may be held up by readers while the write-ahead log is restarted. If that is not
  /// enough the log grows, and it is tried again after the next commit.
  static let walRestartPatience: Duration = .milliseconds(50)

  /// The bytes that a checkpoint writes into the database before it syncs them: a commit that comes meanwhile waits for so
  /// much, about a millisecond.
  static let checkpointSliceBytes = 256 << 10
  /// The length of the pause after a slice: so many times what writing and syncing it took.
  static let checkpointPauseShare = 3
  /// The longest pause between two slices.
  static let checkpointPauseMax: Duration = .milliseconds(20)
  /// The passes of a checkpoint beside the writer, and the pages that may be left for the step in which the writer waits.
  /// With more passes the log would be copied for ever where commits are as fast as the checkpoint.
  static let checkpointPassesMax = 4
  static let checkpointPagesLeft: Int32 = 32
  /// The part of the usual log by which it is longer before a run is asked for again that a reader has held up: a
  /// thirty-second, a mebibyte.
  static let checkpointsAsked: Int32 = 32
  /// The bytes that a copy of the database writes before it waits for the disk and pauses.
  static let copySliceBytes = 256 << 10
  /// The length of that pause, as of a checkpoint's.
  static let copyPauseShare = 6
  /// The priority of a copy: where others want the processor, it gets a tenth of it, so that it ends in any case.
  static let copyNiceness: Int32 = 10
  /// The shares of the usual log's bytes by which one that a reader holds is longer than it needs to be, and that remain
  /// when it is made longer again: half and an eighth, several seconds of traffic and what comes until that is done.
  static let preparedAheadShare: Int64 = 2
  static let preparedRestShare: Int64 = 8
  /// The slices in which the log's blocks are written beforehand, for each of which the committer waits a tenth of a
  /// millisecond; only where so many times as much is free.
  static let preparedSliceBytes: Int64 = 256 << 10
  static let preparedShareOfDisk: Int64 = 10

  /// The steps of the engine after which a copy looks whether it is to end: less than a millisecond of work.
  static let copyStepsAtOnce: Int32 = 1_000
  /// The bytes of pages that a backup keeps in memory: each page passes once.
  static let copyCacheBytes = 2 << 20

  /// The bytes that are gathered before they are written to the write-ahead log. The engine's own file layer writes
  /// less than 128 KiB at once.
  static let gatheredBytesMax = 96 << 10

  /// The entries, dialogs, rooms or users in one answer, whatever was asked for: about 20 MB.
  static let rowsMax = 20_000

  /// The rows that a page of an archive looks at first, beside twice the entries that it may have, and by how many times as many
  /// it looks at next while it is not full. Nearly all pages are full with the first, which the engine finds in some microseconds.
  static let archivePieceRows = 64
  static let archivePieceGrowth = 8

  /// The rows as which each statement counts that reads a piece of a feed or of a room while these are merged: it takes as long.
  static let feedStatementRows = 10

  /// The words of one message that are indexed; the rest of a longer one is not found.
  static let searchTokensMax = 4_096
  /// The bytes of the text of one message from which these words are taken: five to eight bytes a word. Words behind them are not
  /// found, as no more is read of a text that has few words, and folding is what costs most.
  static let searchTextBytesMax = 32_768
  /// The words of a query that count: each is a look at an index. Further ones are left out.
  static let searchWordsMax = 32
  /// The rooms that are searched at once: each is one more look at the index.
  static let searchScopesMax = 100
  /// The steps of the engine that count as one look of a search. It makes three for each page of the index that it passes over, of a
  /// thousand rows, in which it looks for one that all words have: a step takes six microseconds there, and less than one elsewhere.
  static let searchStepsPerLook: Int32 = 2
  /// The looks that do not count: for a row that is found, which takes some thirteen steps and counts elsewhere; and for each word and
  /// room, whose list has to be found in all parts of the index, a hundred microseconds at most. A search of all of a user's rooms takes
  /// that for each of them, and a query has at most `searchWordsMax` words.
  static let searchRowLooks = 8
  static let searchTermLooks = 64
  /// The messages, and the bytes of their texts, that are read one by one where the index does not answer within its looks: some five to
  /// ten milliseconds. Where several groups of rooms are searched, each has its share, and at least so many.
  static let searchReadMax = 500
  static let searchReadMin = 20
  static let searchReadBytesMax = 262_144

  /// The positions of the log whose ids gather in memory before they are written to the table: at most two such
  /// generations are in memory and are read when the store is opened, with two ids a message 1.6 MB and 20 ms. More
  /// would move more neighbours at once. A full generation is sorted: 1 to 3 ms of the committer.
  public static let freshSpan: Int64 = 16_384
  /// The slices in which a generation is written: one to two milliseconds of the committer each.
  static let freshSlices: Int64 = 16
  /// The chains of a generation, a power of two.
  static let freshBuckets = 16_384

  /// The bytes of the filter of ids (`OriginFilter`): a byte to two for each id, up to here. At the bound more and more
  /// new ids are looked for in the database, as all would be without it.
  static let filterBytesMin = 256 << 10
  static let filterBytesMax = 8 << 20
  /// The rows that a look reads for a filter that is still being built: ten microseconds.
  static let filterRows = 64

  /// The messages of one dialog with the same 32-bit hash of an id that are looked at, newest first. More would mean
  /// that an author makes collisions, which hide only their own messages.
  static let sameHashMax = 16
}
