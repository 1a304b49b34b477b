public import Dialogs
import NIOCore

/// The bounds of this door: each with its number, its reason, and what happens at it. The core bounds what users write
/// (`Limits`).
enum AppLimits {
  // Bodies and frames. At the bound: 413, or close code 1009.
  static let bodyBytesMax = Limits.appMessageBytesMax
  /// That of an operation that needs no login: the longest token of a provider or of a backend, and what stands beside it.
  static let strangerBodyBytesMax = 20_480
  static let frameBytesMax = Limits.appMessageBytesMax
  /// Fragments of one WebSocket message; at the bound close code 1009.
  static let fragmentsMax = 64

  // Sessions.
  /// Bytes of a client's name; at the bound: `too-large`.
  static let clientNameBytesMax = 256

  // WebSocket sessions.
  /// The time in which `hello` must come; then close code 4401.
  static let helloTime: TimeAmount = .seconds(10)
  /// The frames that a client may send before `hello`, such as pings and unknown commands. No account can be charged for them. One more
  /// closes the connection with 4401. An ordinary client sends one, or tries other forms of it.
  static let framesBeforeHelloMax = 16
  /// The interval of the server's pings, so that proxies keep the connection.
  static let pingEvery: TimeAmount = .seconds(30)
  /// The time for which the session of a client that lost its connection is still shown: a change of networks, or
  /// reloading a page, takes less, and all contacts would otherwise be told twice.
  static let lingerTime: TimeAmount = .seconds(5)
  /// The time without any data after which the connection is dead and is closed.
  static let silenceMax: TimeAmount = .seconds(95)
  /// Uncommitted posts of one session; at the bound its socket is not read.
  static let inFlightMax = 64
  /// Commands that wait for a dialog to be read, and the bytes of their frames, which take many times as much once they are parsed; at a
  /// bound the socket is not read, until all of them are carried out where it is that of bytes.
  static let backlogMax = 64
  static let backlogBytesMax = frameBytesMax
  /// The time after which a client that does not read is closed with 4429; its cursor remains valid.
  static let lagMax: TimeAmount = .seconds(60)
  /// Entries of one page of a replay: the most that one session holds in memory.
  static let replayPage = 64
  /// The delay after the first acknowledgement, with which further ones are committed together.
  static let confirmDelay: TimeAmount = .seconds(1)
  /// The delay of unread numbers after a change, in which further changes are combined.
  static let unreadDelay: TimeAmount = .milliseconds(500)
  /// The bound up to which the delay doubles while changes continue: a user in a busy dialog costs one read of the
  /// store in that time.
  static let unreadDelayMax: TimeAmount = .seconds(4)
  /// Dialogs whose changed unread numbers wait to be sent: as many as a replay can have, so that it tells all of them;
  /// further ones are sent with the next change.
  static let unreadDialogsMax = Limits.feedBehindMax
  /// Dialogs whose unread numbers are read at a time; further ones follow with the next delay.
  static let unreadPage = 500
  /// Consecutive commands refused as too fast, before the session is closed with 4429.
  static let refusalsMax = 64

  // Typing.
  /// Renewals for one dialog within this interval are not relayed.
  static let typingEvery: Duration = .seconds(3)
  /// Typing users that one session is shown, and dialogs it is typing in; further ones are dropped.
  static let typingDialogsMax = 256
  /// Signals of one user that wait for their dialog to be read; a further one replaces the last.
  static let dialogWaitersMax = 16

  // Pages of messages, whose bytes the core bounds (`Limits.pageBytesMax`).
  /// Requests that read messages, contacts or users and build their answers at a time, a few megabytes each, of all users and of
  /// one: more than there are threads to do so. Those of one network leave a place free. Further ones wait in order, and networks and
  /// users take turns.
  static let readPlacesMax = 16
  static let readPlacesPerUserMax = 4
  /// The requests that have a large picture in memory (`Limits.avatarSourceBytesMax`): their share of the memory of the process, the most
  /// in all, and the most of one user. With 1 GiB they are three, where one picture at a time is made smaller. The next one waits before
  /// its body is read, so that the unfinished bodies of all of them fit into the memory for such bodies, and none is refused. A picture of
  /// `Limits.avatarBytesMax` or less takes no place.
  static let pictureShare = 64
  static let picturesMost = 16
  static let picturesPerUserMax = 1
  /// The seconds in which a large picture comes once it has its place: 1 MiB at 27 KB a second, as on a slow mobile line, and the
  /// largest one at 131. Then 408 `picture-slow`, and the connection ends. The next one may wait for the place meanwhile, and for the
  /// picture to be made smaller (15 s): its connection would be idle after 60 s (`HTTPLimits.idle`), as its body is not read.
  static let pictureSeconds: Int64 = 40
  /// The seconds for which a large picture waits for a place. Then 503 `overloaded` with `Retry-After`: the connection, whose body is not
  /// read meanwhile, would end without an answer after 60 s.
  static let pictureWaitSeconds: Int64 = 50

  static func picturesMax(memory: Int) -> Int {
    min(max(memory / pictureShare / Limits.avatarSourceBytesMax, 1), picturesMost)
  }

  // Sync.
  static let syncWaitSecondsMax = 30
  /// The memory that an answer takes which waits for an event, with its connection: a long poll, a stream of events. All of them have
  /// a sixteenth of the memory that the server may use; at that bound the oldest of the user with the most is sent early.
  static let heldAnswerBytes = 32_768

  // Server-sent events.
  /// Bytes that wait to be sent; beyond them the session holds back, as on a full socket.
  static let streamBytesMax = 65_536
  /// The interval of comments, so that proxies keep the connection and a dead one is noticed.
  static let heartbeatEvery: TimeAmount = .seconds(15)

  /// Bytes of the cache of dialogs whose public ids are resolved: some 50,000, or fewer where addresses are long. At the bound it is
  /// emptied.
  static let cachedDialogsBytesMax = 16 << 20
}

/// The rate limits of clients. A bucket contains `burst` and gains `perSecond`. The core counts messages
/// (`SendingBudget`), failed logins and new accounts (`LoginFailures`, `AccountPace`).
public struct AppRates: Sendable {
  /// Every other request and command, per user.
  public var others = Rate(burst: 1_000, perSecond: 200)
  /// Requests without a token, per client address.
  public var anonymous = Rate(burst: 2_000, perSecond: 500)

  /// Custom events, per user: each goes to everyone present.
  public var customs = Rate(burst: 50, perSecond: 10)
  /// Call signals, per user: a call begins with a few dozen candidates at once.
  public var signals = Rate(burst: 200, perSecond: 20)

  public init() {}
}
