public import Dialogs
import NIOCore

/// Every bound of this door: its number, why, and what happens at it. What
/// people may write is bounded by the core (`Limits`).
enum AppLimits {
  // Bodies and frames. At the bound: 413, or close code 1009.
  static let bodyBytesMax = Limits.appMessageBytesMax
  static let frameBytesMax = Limits.appMessageBytesMax
  /// Pieces of one fragmented WebSocket message; at the bound close code 1009.
  static let fragmentsMax = 64

  // Sessions.
  /// Bytes of what a client may call itself; at the bound: `too-large`.
  static let clientNameBytesMax = 256

  // WebSocket sessions.
  /// Time to say `hello`; then close code 4401.
  static let helloTime: TimeAmount = .seconds(10)
  /// The server pings this often, so that proxies keep the connection.
  static let pingEvery: TimeAmount = .seconds(30)
  /// A client that is gone without a word is shown so long as if it were there: a change of networks, or a page that is loaded
  /// anew, takes less, and would tell all contacts twice. Then they are told.
  static let lingerTime: TimeAmount = .seconds(5)
  /// Nothing received for so long: the connection is dead and is closed.
  static let silenceMax: TimeAmount = .seconds(95)
  /// Posts of one session that are not committed yet; at the bound its socket is not read.
  static let inFlightMax = 64
  /// Commands that wait for a dialog to be looked up; at the bound the socket is not read.
  static let backlogMax = 64
  /// A client that does not read for so long is closed with 4429; its cursor stays good.
  static let lagMax: TimeAmount = .seconds(60)
  /// Entries of one page of a replay: what one session holds in memory at most.
  static let replayPage = 64
  /// Acknowledgements are committed together, this long after the first.
  static let confirmDelay: TimeAmount = .seconds(1)
  /// Unread numbers are told so long after they changed, once.
  static let unreadDelay: TimeAmount = .milliseconds(500)
  /// While they go on changing, the delay doubles up to this: a user in a busy dialog costs a look at the store in that time.
  static let unreadDelayMax: TimeAmount = .seconds(4)
  /// Dialogs whose unread numbers wait to be told; further ones are told with the next change.
  static let unreadDialogsMax = 64
  /// Commands refused as too fast, without one accepted between, before the session is closed with 4429.
  static let refusalsMax = 64

  // Typing.
  /// Renewals of one dialog closer than this are not passed on.
  static let typingEvery: Duration = .seconds(3)
  /// An app's typing ends by itself after this: apps renew.
  static let typingOfApps: TimeAmount = .seconds(8)
  /// An XMPP client's: it says so once and once that it stopped (XEP-0085 5.3).
  static let typingOfXMPP: TimeAmount = .seconds(30)
  /// People whom one session is shown typing, and dialogs it is typing in; further ones are not told.
  static let typingDialogsMax = 256

  // Sync.
  static let syncWaitSecondsMax = 30
  /// Bytes of events after which a page of `GET /v1/sync` ends early.
  static let syncBytesMax = 1_048_576

  // Server-sent events.
  /// Bytes that wait to be taken by the connection; beyond them the session holds back, as on a socket that is full.
  static let streamBytesMax = 65_536
  /// A comment this often, so that proxies keep the connection and one that is dead is noticed.
  static let heartbeatEvery: TimeAmount = .seconds(15)

  // Caches, in entries; at the bound the cache starts anew.
  static let cachedDialogsMax = 50_000
}

/// How often a client may do what. A bucket holds `burst` and gains `perSecond`. Failed
/// logins and new accounts are counted by the core (`LoginFailures`, `AccountPace`).
public struct AppRates: Sendable {
  /// Messages sent, per user.
  public var messages = Rate(burst: 1_000, perSecond: 200)
  /// Every other request and command, per user.
  public var others = Rate(burst: 1_000, perSecond: 200)
  /// Requests without a caller, per client address.
  public var anonymous = Rate(burst: 2_000, perSecond: 500)

  /// Events of an app's own, per user: each goes to everybody who is there.
  public var customs = Rate(burst: 50, perSecond: 10)
  /// What is said in calls, per user: a call begins with a few dozen candidates at once.
  public var signals = Rate(burst: 200, perSecond: 20)

  public init() {}
}
