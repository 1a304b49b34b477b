import Dialogs

/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum AdminLimits {
  /// The maximum length of a request to the admin socket, in bytes: a batch of users with the longest names and
  /// passwords fits, and one with the largest record of an import, as JSON. A longer one is answered with 413.
  static let requestBytesMax = 24 * 1_048_576
  /// The maximum length of an answer that a command reads, in bytes.
  static let answerBytesMax = 64 * 1_048_576
  /// The maximum number of concurrent connections to the admin socket; commands are short. The next one waits in the
  /// kernel's queue.
  static let connectionsMax = 64
  static let answerWait: Duration = .seconds(120)
  /// The time that `parley backup` waits for its answer: a terabyte at 50 MB/s takes six hours.
  static let backupWait: Duration = .seconds(6 * 3_600)
  /// The time that `parley retention run` waits for its end: some ten million messages.
  static let retentionWait: Duration = .seconds(6 * 3_600)
  /// The time that `parley certificate renew` waits for its answer: three orders, each of which an authority may take
  /// five minutes to decide on, and the requests between.
  static let certificateWait: Duration = .seconds(1_200)
  /// The maximum number of databases in a folder of backups; more would be copies of the same.
  static let backupsKeptMax = 1_000
  /// The maximum number of accounts in one XEP-0133 command: each may take a key derivation or a pass over rosters.
  static let commandAccountsMax = 100
  /// The maximum number of rows in an XEP-0133 answer, which a client shows at once.
  static let commandRowsMax = 1_000
  /// The number of imported rows per transaction: enough to share a sync, few enough to update the progress bar often.
  static let importBatchRows = 500
  /// The same for the records of another server, of which there are millions: half a tenth of a second of the committer,
  /// which the traffic of a running server waits for.
  static let importBatchRecords = 1_000
  /// The bytes of records after which an import sends its batch: with one more record, of at most 8 MiB, it stays below
  /// `requestBytesMax` unless that record alone is larger, which is then refused.
  static let importBatchBytes = 1_048_576
  /// The bytes of a file that an import sends at a time: as base 64 they fit into `requestBytesMax` several times.
  static let importPieceBytes = 4 * 1_048_576
  /// The imports whose beginning is remembered until their end: one runs at a time, and those that were killed have no end. The
  /// oldest is forgotten beyond them.
  static let importsOpenMax = 64
  /// The maximum length of a CSV field in bytes and number of fields in a row. The file is wrong at that line beyond
  /// them.
  static let csvFieldBytesMax = 65_536
  static let csvFieldsMax = 64
  /// The number of import errors that are printed; further ones are only counted.
  static let importErrorsShown = 20
  /// The maximum length of the body of a call with an app key, in bytes: the longest message fits with its JSON. A
  /// longer one is answered with 413.
  static let bodyBytesMax = 131_072
  /// The same for a call of an operation by its name, as commands elsewhere make them: a batch of `importBatchRows` users
  /// with long names and passwords fits.
  static let operationBytesMax = 4 * 1_048_576
  /// The bytes of a file with an app key. A file that is longer is another one.
  static let keyFileBytesMax = 4_096
  /// The bytes of a file of authorities (`--ca`): all that Debian trusts are a fifth of it.
  static let authoritiesBytesMax = 1_048_576
  /// The times that a command waits as long as a server asks it to (429), before it gives up.
  static let waitsMax = 5
  /// The maximum number of account tasks in one answer, oldest first; further ones are listed when these are done.
  static let tasksMax = 1_000
  /// The maximum number of rules for domains elsewhere, which are all in memory; `too-many-rules` beyond it. Patterns
  /// such as `*.example.org` are for more.
  static let federationRulesMax = 10_000
  /// The records of the audit that are read in one piece while some are looked for: a few milliseconds of a reader.
  static let auditRowsRead = 1_000
  /// The rate of calls per app key, or per administrator, a backend's busiest hour; 429 above it.
  static let keyRate = Rate(burst: 1_000, perSecond: 200)
  /// The rate of refused callers per address: without a valid key, or no administrators, against guessing; 429 above it.
  static let keylessRate = Rate(burst: 50, perSecond: 2)
}
