import Dialogs

/// Every bound of this target: its number, why, and what happens at it.
enum AdminLimits {
  /// Bytes of a request to the admin socket: a batch of users with the longest names and passwords fits.
  /// Above it: 413.
  static let requestBytesMax = 8 * 1_048_576
  /// Bytes of an answer that a command reads.
  static let answerBytesMax = 64 * 1_048_576
  /// Connections to the admin socket at once: commands are short. The next one waits in the kernel's queue.
  static let connectionsMax = 64
  static let answerWait: Duration = .seconds(120)
  /// How long `parley backup` waits: a terabyte at 50 MB/s takes six hours.
  static let backupWait: Duration = .seconds(6 * 3_600)
  /// Accounts that one command of XEP-0133 acts on: each may take a key derivation or a walk through rosters.
  static let commandAccountsMax = 100
  /// Rows of an answer of XEP-0133: a client shows them all at once.
  static let commandRowsMax = 1_000
  /// Rows of an import in one transaction: enough to share a sync, few enough for a lively progress bar.
  static let importBatchRows = 500
  /// Bytes of one CSV field and fields of one CSV row. Longer is an error of that file.
  static let csvFieldBytesMax = 65_536
  static let csvFieldsMax = 64
  /// Errors of an import that are printed one by one; the rest are counted.
  static let importErrorsShown = 20
  /// Bytes of the body of a call by an app key: the longest message fits with its JSON. Above it: 413.
  static let bodyBytesMax = 131_072
  /// Tasks of accounts in one answer, the oldest; users ask for few at a time. Further ones are there when these are done.
  static let tasksMax = 1_000
  /// Calls of one app key: a backend's busiest hour. At the bound: 429.
  static let keyRate = Rate(burst: 1_000, perSecond: 200)
  /// Calls without a key that is known, per address: whoever guesses. At the bound: 429.
  static let keylessRate = Rate(burst: 50, perSecond: 2)
  /// Addresses of which that is counted; at the bound all begin anew.
  static let keylessAddressesMax = 100_000
}
