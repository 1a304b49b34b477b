import Dialogs
import NIOCore
import SQLiteStore

/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum ServerLimits {
  /// The maximum length of a file with a token key in bytes; ours have 32. A larger file is refused.
  static let keyBytesMax = 4_096
  /// The maximum length of a file with a key for pushes in bytes: a service account's has some 2,400. A larger file is
  /// refused.
  static let pushKeyBytesMax = 65_536

  /// The time that a command waits for a folder that another command holds, and for the beginning of an answer.
  static let lockWait: Duration = .seconds(10)
  static let lockPollInterval: Duration = .milliseconds(50)

  /// The interval of the removal of expired guests.
  static let guestSweepInterval: Duration = .seconds(5)
  /// The interval of retries of failed account tasks, and of ends of rooms that could not be committed.
  static let accountTaskInterval: Duration = .seconds(60)
  /// The interval of runs of retention; the first is at the start. Ages are days.
  static let retentionInterval: Duration = .seconds(3_600)
  /// The interval of the removal of stanzas of sessions from before a restart that nobody has resumed, and the time that
  /// they are kept beyond the latest end of their session as the former process foresaw it.
  static let archivedStanzasInterval: Duration = .seconds(3_600)
  /// The rows of them that one transaction removes: each has a megabyte at most, and everybody's messages wait meanwhile.
  static let archivedStanzasRemovedMax = 16
  /// The time for which the count of a stream is kept after its last message: twice the longest time for which a session
  /// can be resumed (`push.resume_seconds`). A client that comes back later is not sent the count.
  static let streamCountsKept: Duration = .seconds(2 * 604_800)
  /// The interval of the removal of such counts, of one of 256 slices each time: no run reads more than a part of the
  /// table, and each count is removed within eleven days.
  static let streamCountsInterval: Duration = .seconds(3_600)
  /// The interval of the removal of expired files. They cannot be read from their expiry on.
  static let blobSweepInterval: Duration = .seconds(30)

  /// The bytes of a large file that are removed before others get the disk, for three times as long as that took: the
  /// disk is told of them within a millisecond or two. A database of 5 GB is removed in some seconds.
  static let removedSliceBytes: Int64 = 8 << 20
  static let removalPauseMax: Duration = .milliseconds(20)
  /// The bytes of a file that a backup or a restore has in memory.
  static let copiedAtOnce = 1 << 20
  /// The bytes of the manifest of a backup in a bucket: ours has 200. A longer one is none.
  static let manifestBytesMax = 65_536
  /// The bytes of the list of files of a backup that are in memory, of each backup that is kept.
  static let nameListPieceBytes = 65_536
  /// The interval at which a replicator is looked for, and the time for which it may be absent: it is restarted within
  /// that, and copies a long log into the database.
  static let replicatorInterval: Duration = .seconds(5)
  static let replicatorPatience: Duration = .seconds(60)
  /// The bytes of the log file beyond which a replicator that is there holds it up: four times the log that is left to it.
  static let heldLogBytes = 4 * StoreLimits.walBytesReplicated
  /// The interval of further attempts of a scheduled backup that has failed, unless backups are more frequent.
  static let backupRetryInterval: Duration = .seconds(600)
  /// The age up to which a copy that could not be sent to a bucket is continued: an older one is removed for a new one,
  /// since what was said since is worth more than what was sent.
  static let unsentCopyAge: Duration = .seconds(6 * 3_600)
  /// The files and folders of a data folder that `parley check` judges: some seconds on a slow disk. Further ones are not
  /// looked at. The names that an error tells of those that are closed; all are counted.
  static let filesJudgedMax = 200_000
  static let closedFilesShown = 3
  /// The missing files whose names a restore tells; all are counted.
  static let missingFilesShown = 20

  /// The bounds of what `parley check --network` calls little: free bytes that are a fault, and those that are a
  /// warning; the descriptors of a small server. The syncs that it measures take a second on a slow disk.
  static let diskFreeLeast: UInt64 = 256 << 20
  static let diskFreeLow: UInt64 = 2 << 30
  static let descriptorsLow = 4_096
  static let syncsTried = 21
  /// The descriptors that are kept for the store, files and connections to other services: a quarter of the limit of open
  /// files, within these bounds. A download or an upload takes one, the store some tens.
  static let descriptorsKeptLeast = 64
  static let descriptorsKeptMost = 4_096
  /// The connections of logged-in users that one network may have however few files a process may open: those of an office with 40 people
  /// and three devices each. Where half of all connections are more, a network may have that half: with 16,384 files those of 2,000 people
  /// with three devices each. The newest connection beyond is refused (`connections-too-many`).
  static let networkConnectionsLeast = 128
  /// Divisors of the memory of the process, for the bound of each kind of memory that clients make the server hold: `heldShare`
  /// for kinds that strangers can fill, `smallShare` for kinds that only logged-in users can fill, and `unfinishedShare` for
  /// unfinished stanzas, since few honest ones are so large that they count. With the other parts of `MemoryBounds` that is eight
  /// ninths of the memory of a machine with 1 GiB, and twelve thirteenths of a smaller one's. `BoundedMemory` has the effects of each
  /// bound.
  static let heldShare = 8
  static let smallShare = 16
  static let unfinishedShare = 64
  /// The most bytes of each kind on a large machine, which are what ten thousand honest clients need at once. Unread output begins
  /// behind the buffers of the sockets, which the system bounds; it grows by doubling, and takes up to twice its bytes for a while.
  static let withoutLoginBytesMost = 256 << 20
  static let bodyBytesMost = 256 << 20
  static let unreadBytesMost = 128 << 20
  static let unfinishedBytesMost = 128 << 20
  static let unacknowledgedBytesMost = 256 << 20
  static let answerBytesMost = 1 << 30
  /// The share of the memory of what is kept for users who are online beyond what ordinary ones have (`Limits.onlineBytesUncounted`), and
  /// the most bytes on a large machine: 32 MiB with 1 GiB are some eighty users with a thousand contacts each who are in a hundred
  /// rooms with three clients. At the bound the network with the most loses a session.
  static let onlineShare = 32
  static let onlineBytesMost = 256 << 20
  /// The share of the memory of the stanzas that are stored nowhere and wait in the links to other servers, and the most bytes on a large
  /// machine: presence of a hundred thousand contacts elsewhere at once, as after a restart.
  static let linkShare = 64
  static let linkBytesMost = 128 << 20
  /// The share of what is free of it that one author has, and the most bytes: presence for some thousand contacts elsewhere. At a bound
  /// the author's next stanza fails, as for a server that cannot be reached.
  static let linkAuthorShare = 8
  static let linkAuthorBytesMost = 4 << 20
  /// The share of the memory of the sessions of people elsewhere in rooms here, with their places in rooms, and the most bytes on a large
  /// machine: 32 MiB with 1 GiB are some 8,000 people in a room each. A zone has a share of what is free of it, some 1,700 of them. At a
  /// bound the next one does not enter.
  static let residentShare = 32
  static let residentBytesMost = 256 << 20
  static let residentZoneShare = 4
  /// The share of the memory of the posts that wait to be committed; as much may be in the commit that is under way. At the
  /// bound sessions are not read, and HTTP answers 503.
  static let inboxShare = 32
  /// The share of the memory of what the committer remembers of the store, which users make long: 32 MiB with 1 GiB are some ten
  /// thousand active users. At the bound the largest cache is emptied, and what is needed is read again.
  static let cacheShare = 32
  /// The share of the memory of the presences of contacts elsewhere: 16 MiB with 1 GiB are some 20,000. At the bound the oldest of the
  /// owner of domains with the most is forgotten, and asked for again.
  static let remotePresenceShare = 64
  /// The share of the memory of the presences that all users show in rooms: 8 MiB with 1 GiB are those of some 12,000 occupants. At the
  /// bound what the user with the most says there is forgotten, and nobody is refused, so that a small share is enough.
  static let presencesInRoomsShare = 128
  /// The share of the memory of the posts that wait for the before-send hook, of which one author has an eighth of what is free: small,
  /// as a person sends one message at a time, and a backend answers within some milliseconds. At the bound it is as with the inbox.
  static let beforeSendShare = 128
  /// The share of the memory that uploads take at most, and the bytes of one: a piece that is written, and those that the
  /// connection has read. Their number is bounded; further ones are refused with `uploads-too-many`.
  static let uploadShare = 32
  static let uploadBytes = 131_072
  /// The bytes of an HTTP connection without a login, with TLS. Their number is bounded so that they take no more than the same
  /// share; at the bound the network with the most gives up its oldest.
  static let httpConnectionBytes = 32_768
  /// The bytes from which on a block of memory is given back to the system when it is freed: more than what a stanza or a
  /// read of a socket takes, so that no common block costs a call of the system.
  static let largeBlockBytes = 256 << 10
  /// The interval at which memory may be given back to the system, and the bytes for which it is: for less the work is not
  /// worth it.
  static let memoryReturnInterval: Duration = .seconds(5)
  static let memoryReturnedLeast = 64 << 20
  /// The share of its descriptors that a server may have open before `parley check --network` warns.
  static let descriptorsUsedMost = 0.8
  /// The waits for the answer of a relay, after each of which the request is sent again (RFC 8489 6.2.1, with fewer of
  /// them: an operator waits), and the bytes of a datagram.
  static let relayWaits: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2)]
  static let datagramBytesMax = 2_048

  /// The time that a scrape waits for the store and the event loops; what they would have told is then missing.
  /// Prometheus itself waits 10 s by default.
  static let scrapeWait: Duration = .seconds(2)
  /// The maximum number of connections to the port of metrics: a few servers that scrape, and people who look. Further
  /// ones wait until others are closed, which happens after a minute without a request.
  static let metricsConnectionsMax = 64

  /// The time for a graceful stop, after which the sockets are closed. Container engines kill after 10 s.
  static let stopWait: Duration = .seconds(8)
}
