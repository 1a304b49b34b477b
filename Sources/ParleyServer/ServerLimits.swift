import Dialogs
import NIOCore

/// Every bound of this target: its number, why, and what happens at it.
public enum ServerLimits {
  /// Bytes of a configuration file. A larger one is no configuration file; it is refused.
  public static let settingsFileBytesMax = 1_048_576
  /// Bytes of a PEM file: a chain of ten certificates has about 20 KiB. Larger is refused.
  public static let certificateFileBytesMax = 1_048_576
  /// Bytes of the file that tokens are made with; ours has 32. Larger is refused.
  public static let keyBytesMax = 4_096
  /// Served domains: each costs a certificate and its place in memory. More are a mistake in the configuration.
  public static let domainsMax = 1_000
  /// Threads for connections. More than any machine has cores; above it the value is a mistake.
  public static let threadsMax = 1_024
  /// How long a lost XMPP session may be resumed: a day; above it sessions would outlive what they wait for.
  public static let resumeSecondsMax = 86_400
  /// Components: each is a program that somebody runs beside the server. More are a mistake in the configuration.
  public static let componentsMax = 32
  /// How long credentials for a TURN server may count: a week. Longer ones could as well be passwords; above it the value
  /// is a mistake.
  public static let turnSecondsMax = 604_800
  /// How long a call may ring: ten minutes. Above it the value is a mistake.
  public static let ringSecondsMax = 600
  /// Backends, and providers, that vouch for users. More are a mistake in the configuration.
  public static let vouchersMax = 100
  /// STUN and TURN servers: browsers gather more slowly with each. More are a mistake in the configuration.
  public static let turnServersMax = 20
  /// Contact addresses of one role. They stand in every answer to disco#info; more are a mistake in the configuration.
  public static let contactAddressesMax = 10
  /// The same of a client that a push can wake: a week, after which the archive serves it better.
  public static let pushResumeSecondsMax = 604_800
  /// Bytes of a file with a key for pushes: a service account's has some 2,400. Larger is refused.
  public static let pushKeyBytesMax = 65_536
  /// `sun_path` has 108 bytes, the last of which ends the string (unix(7)).
  public static let socketPathBytesMax = 107

  /// Bytes of a request to the admin socket: a batch of users with the longest names and passwords fits.
  /// Above it: 413.
  public static let adminRequestBytesMax = 8 * 1_048_576
  /// Bytes of an answer that a command reads.
  public static let adminAnswerBytesMax = 64 * 1_048_576
  /// Accounts that one command of XEP-0133 acts on: each may take a key derivation or a walk through rosters.
  static let commandAccountsMax = 100
  /// Rows of an answer of XEP-0133: a client shows them all at once.
  static let commandRowsMax = 1_000
  /// Bytes of a form on a page: the longest name and password fit percent-encoded. Above it: 413.
  static let formBytesMax = 8_192
  /// Connections to the admin socket at once: commands are short. The next one waits in the kernel's queue.
  public static let adminConnectionsMax = 64
  /// How long a command waits for a folder that another command holds, and for an answer to begin.
  public static let lockWait: Duration = .seconds(10)
  public static let lockPollInterval: Duration = .milliseconds(50)
  public static let adminAnswerWait: Duration = .seconds(120)
  /// How long `parley backup` waits: a terabyte at 50 MB/s takes six hours.
  public static let backupWait: Duration = .seconds(6 * 3_600)

  /// Rows of an import in one transaction: enough to share a sync, few enough for a lively progress bar.
  public static let importBatchRows = 500
  /// Bytes of one CSV field and fields of one CSV row. Longer is an error of that file.
  public static let csvFieldBytesMax = 65_536
  public static let csvFieldsMax = 64
  /// Errors of an import that are printed one by one; the rest are counted.
  public static let importErrorsShown = 20

  /// Bytes of a file in memory while it is given out: large enough that the system's calls cost little beside the bytes.
  public static let blobPieceBytes = 131_072
  /// Bytes of the disk that files leave to the database: below it slots and uploads are refused with `disk-full`.
  public static let diskReserveBytes: Int64 = 64 * 1_048_576
  /// What a program that makes a picture smaller may use: memory for the largest (`Limits.picturePixelsMax`) decoded whole,
  /// seconds of the processor, bytes of a file. At a bound it ends, and the picture has no thumbnail.
  static let pictureBounds = ChildProgram.Bounds(
    memory: 1_024 * 1_048_576, seconds: 10, fileBytes: 8 * 1_048_576)
  static let pictureTime: Duration = .seconds(15)
  static let pictureOutputBytesMax = 1_048_576
  /// Bytes of a file that go to a scanner in one piece, and bytes of its answer.
  static let scanPieceBytes = 65_536
  static let scanAnswerBytesMax = 4_096
  /// How long a scanner may be given: an upload waits for it.
  static let scanSecondsMax = 600
  /// Bytes of one object of a bucket that are put by one request (5 GiB for S3); a larger `uploads.bytes` is a mistake.
  static let bucketObjectBytesMax = 5_368_709_120
  /// Bytes of an object that are read by one request: a request costs some milliseconds.
  static let bucketPieceBytes = 1_048_576
  /// Slower than so many bytes a second a bucket is broken, and the upload fails.
  static let bucketBytesPerSecond: Int64 = 262_144
  /// How often a bucket is asked the same, and the pause before the second time, doubled each time: 0.2, 0.4 and 0.8 s.
  static let bucketAttempts = 4
  static let bucketPauseMicroseconds: UInt32 = 200_000
  /// Guests that may be configured: each is a user in memory and a row; above it the value is a mistake.
  public static let guestsMax = 100_000
  /// Seconds that a guest without a session may be kept: a day.
  public static let guestSecondsMax = 86_400
  /// How often it is looked whose time is up.
  public static let guestSweepInterval: Duration = .seconds(5)
  /// How often what is to be done for accounts, and has failed, is tried again.
  public static let accountTaskInterval: Duration = .seconds(60)
  /// How often files whose time is over are removed. They are not given out from that time on.
  public static let blobSweepInterval: Duration = .seconds(30)
  /// Bytes of one file that may be configured: a terabyte; above it the value is a mistake.
  public static let uploadBytesMax = 1 << 40
  /// Days that files may be kept: a century; for longer there is 0.
  public static let uploadDaysMax = 36_500
  /// How long the compliance check waits for one connection's answers; an answer longer than this is not read on.
  static let probeWait: TimeAmount = .seconds(10)
  static let probeBytesMax = 65_536

  /// Letters (codes, links) that are under way, in memory; the next is dropped, and the log says so.
  static let lettersMax = 1_000
  /// Before each try to deliver a code. Some mail servers take nothing from strangers at first (greylisting); whoever waits
  /// longer for a code has asked for another.
  static let letterWaits: [Duration] = [.zero, .seconds(3), .seconds(15), .seconds(60)]
  /// Bytes of a mail's template. Larger is refused.
  static let mailTemplateBytesMax = 65_536

  /// How long a closed connection waits for the other end's `close_notify`; then it is gone. Enough for what was sent last to
  /// arrive; nobody has to wait for it (RFC 8446 6.1), and a server that stops waits for all of them.
  static let tlsCloseWait: TimeAmount = .seconds(1)
  /// How often the certificates' files are looked at.
  public static let certificatePollInterval: Duration = .seconds(30)
  /// A self-signed certificate's days: as many as the strictest clients accept.
  public static let selfSignedDays = 825
  /// Days before its end at which a start makes a new one.
  public static let selfSignedRenewalDays = 30

  /// Bytes of the body of a call by an app key: the longest message fits with its JSON. Above it: 413.
  public static let adminHTTPBytesMax = 131_072
  /// Tasks of accounts in one answer, the oldest; users ask for few at a time. Further ones are there when these are done.
  static let adminTasksMax = 1_000
  /// Calls of one app key: a backend's busiest hour. At the bound: 429.
  static let keyRate = Rate(burst: 1_000, perSecond: 200)
  /// Calls without a key that is known, per address: whoever guesses. At the bound: 429.
  static let keylessRate = Rate(burst: 50, perSecond: 2)
  /// Addresses of which that is counted; at the bound all begin anew.
  static let keylessAddressesMax = 100_000
  /// Bytes of a webhook's answer that are read; nothing in it is looked at. A longer one is a failure.
  static let hookAnswerBytesMax = 1_048_576
  /// Seconds that authors may be made to wait for `before_send.url`: longer, and people say it twice.
  public static let beforeSendSecondsMax = 5
  /// Bytes of its answer: the longest text fits. A longer one is no answer.
  static let beforeSendAnswerBytesMax = 131_072
  /// Of a refusal: bytes of its code, and characters of its text, which is cut.
  static let refusalCodeBytesMax = 64
  static let refusalCharactersMax = 500

  /// How long a graceful stop may take before the sockets are closed anyway. Container engines kill after 10 s.
  public static let stopWait: Duration = .seconds(8)
}
