/// The bounds of this target. Each states its number, its reason and the behaviour at the bound.
public enum StoreLimits {
  /// The bytes of the users whose address is kept in memory: some 25,000 with 150 bytes each, or fewer with longer addresses. At the
  /// bound the cache is emptied.
  static let cachedPartiesBytesMax = 4 << 20
  /// The bytes of the rooms whose address is kept in memory. At the bound the cache is emptied.
  static let cachedRoomsBytesMax = 4 << 20

  /// The bytes in the write-ahead log at which it is copied into the database. A smaller bound copies hot pages more
  /// often (measured: 8 MiB costs twice the CPU of 32 MiB per message, 64 MiB no less than 32).
  public static let walBytesCheckpoint: Int64 = 32 << 20
  /// The same bytes with a replicator (`SQLiteStore.Options.isReplicated`): four times the length that it should need. Beyond it
  /// the log is restarted without the replicator, which must then copy the whole database again.
  public static let walBytesReplicated: Int64 = 128 << 20
  /// The bytes of the log file that stay on the disk after it was longer (a large import, a reader that blocked the restart).
  static let walBytesKept: Int64 = 64 << 20
  /// The maximum time for which the committer waits for readers when the write-ahead log is restarted. If that is not enough
  /// the log grows, and the restart is tried again after the next commit.
  static let walRestartPatience: Duration = .milliseconds(50)

  /// The bytes that a checkpoint writes into the database before it syncs them: a commit may have to wait for them, about a
  /// millisecond.
  static let checkpointSliceBytes = 256 << 10
  /// The length of the pause after a slice, as a multiple of the time that writing and syncing it took.
  static let checkpointPauseShare = 3
  /// The longest pause between two slices.
  static let checkpointPauseMax: Duration = .milliseconds(20)
  /// The maximum passes of a checkpoint while the writer runs, and the pages that may be left for the step in which the writer
  /// waits. Without a maximum the passes would never end if commits are as fast as the checkpoint.
  static let checkpointPassesMax = 4
  static let checkpointPagesLeft: Int32 = 32
  /// The part of the usual log by which it must grow before a run is requested again after a reader has blocked one: a
  /// thirty-second, a mebibyte.
  static let checkpointsAsked: Int32 = 32
  /// The bytes that a copy of the database writes before it waits for the disk and pauses.
  static let copySliceBytes = 256 << 10
  /// The length of that pause, as a multiple of the slice's time.
  static let copyPauseShare = 6
  /// The niceness of a copy: on a busy processor it still gets a tenth, so that it always ends.
  static let copyNiceness: Int32 = 10
  /// While a reader holds the log, blocks are written in advance for further traffic. These are the shares of the usual log's bytes:
  /// half, for several seconds, is written at a time, when less than an eighth, for the time of writing, is left.
  static let preparedAheadShare: Int64 = 2
  static let preparedRestShare: Int64 = 8
  /// The slices in which the log's blocks are written in advance, for each of which the committer waits a tenth of a
  /// millisecond; they are written only if a multiple of the bytes is free on the disk.
  static let preparedSliceBytes: Int64 = 256 << 10
  static let preparedShareOfDisk: Int64 = 10

  /// The steps of the engine between two checks of a copy's cancellation: less than a millisecond of work.
  static let copyStepsAtOnce: Int32 = 1_000
  /// The bytes of pages that a backup keeps in memory: few, since each page is used once.
  static let copyCacheBytes = 2 << 20

  /// The bytes that are gathered before they are written to the write-ahead log. The engine's own file layer writes
  /// less than 128 KiB at once.
  static let gatheredBytesMax = 96 << 10

  /// The maximum entries, dialogs, rooms or users in one answer, whatever limit was requested: about 20 MB.
  static let rowsMax = 20_000

  /// The rows of the first piece of an archive page, in addition to twice its entries, and the factor of the next pieces while the
  /// page is not full. Nearly all pages are full after the first piece, which takes some microseconds.
  static let archivePieceRows = 64
  static let archivePieceGrowth = 8

  /// The number of rows that count for each statement that reads a piece of a feed or room for a merge: it takes as long as these.
  static let feedStatementRows = 10

  /// The maximum words of one message that are indexed; later words are not found.
  static let searchTokensMax = 4_096
  /// The bytes of a message's text that are indexed: five to eight bytes for each of these words. Later words are not found. Folding
  /// costs most, so a text with few words must be bounded, too.
  static let searchTextBytesMax = 32_768
  /// The maximum words of a query, each of which is a look at the index. Further ones are ignored.
  static let searchWordsMax = 32
  /// The rooms that are searched at once: each is one more look at the index.
  static let searchScopesMax = 100
  /// The steps of the engine that count as one look of a search. It makes three for each page of the index, of a thousand rows, in
  /// which it searches a row with all words: such a step takes six microseconds, any other less than one.
  static let searchStepsPerLook: Int32 = 2
  /// The looks that do not count: for a found row, which takes some thirteen steps and counts otherwise; and for each word and room,
  /// whose list must be found in all parts of the index, at most a hundred microseconds. A search of all rooms of a user takes that for
  /// each of them, and a query has at most `searchWordsMax` words.
  static let searchRowLooks = 8
  static let searchTermLooks = 64
  /// The messages, and the bytes of their texts, that are read one by one if the index finds none within its looks: some five to ten
  /// milliseconds. If several groups of rooms are searched, each has a share, with a minimum.
  static let searchReadMax = 500
  static let searchReadMin = 20
  static let searchReadBytesMax = 262_144

  /// The number of positions of the log whose ids are gathered in memory before they are written to the table. At most two
  /// such generations are in memory and are read when the store is opened: with two ids a message 1.6 MB and 20 ms. A larger
  /// generation would share more pages. A full one is sorted, which takes 1 to 3 ms of the committer.
  public static let freshSpan: Int64 = 16_384
  /// The slices in which a generation is written: one to two milliseconds of the committer each.
  static let freshSlices: Int64 = 16
  /// The chains of a generation, a power of two.
  static let freshBuckets = 16_384

  /// The minimum and maximum bytes of the filter of ids (`OriginFilter`): one or two bytes for each id. At the maximum more and more
  /// new ids are looked up in the database, as all would be without a filter.
  static let filterBytesMin = 256 << 10
  static let filterBytesMax = 8 << 20
  /// The rows that a lookup reads for a filter that is still being built: ten microseconds.
  static let filterRows = 64

  /// The maximum messages of one dialog with the same 32-bit hash of an id that are examined, newest first. More exist only if
  /// an author causes collisions, which hide only their own messages.
  static let sameHashMax = 16
}
