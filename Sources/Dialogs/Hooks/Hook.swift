public import Basics

/// A URL of the app's backend that is told what happens in a realm: a follower of the log with a position of its own.
public struct Hook: Hashable, Sendable {
  /// Stored: never renumber.
  public enum State: UInt8, Hashable, Sendable {
    case active = 1
    /// Nothing is sent; the position stays, so that nothing is lost by it.
    case disabled = 2
  }

  public let id: Int64
  public let realm: RealmID
  public var url: String
  /// Names of events, `message.*`, or `*`.
  public var events: [String]
  /// What requests are signed with; the engine of the signature needs it as it is.
  public var secret: [UInt8]
  /// The one before, which signs too until `previousUntil`.
  public var previousSecret: [UInt8]?
  public var previousUntil: Timestamp?
  /// The operator gave the URL, which may lead anywhere; else to public addresses only.
  public let isTrusted: Bool
  public let createdAt: Timestamp
  public var progress: Progress

  /// How far it has come.
  public struct Progress: Hashable, Sendable {
    public var state = State.active
    /// Everything up to here was taken, or stands among the failures.
    public var position: Position
    /// The same of what is no entry of the log.
    public var occurrence: Int64
    /// How often the first event that it lacks was not taken.
    public var attempts = 0
    /// How often in a row it took nothing, and since when.
    public var failures = 0
    public var failingSince: Timestamp?
    /// Not before this; nil: now.
    public var next: Timestamp?
    /// Why it did not take the last one.
    public var reason: String?

    public init(position: Position, occurrence: Int64) {
      self.position = position
      self.occurrence = occurrence
    }
  }

  public init(
    id: Int64, realm: RealmID, url: String, events: [String], secret: [UInt8], previousSecret: [UInt8]? = nil,
    previousUntil: Timestamp? = nil, isTrusted: Bool, createdAt: Timestamp, progress: Progress
  ) {
    self.id = id
    self.realm = realm
    self.url = url
    self.events = events
    self.secret = secret
    self.previousSecret = previousSecret
    self.previousUntil = previousUntil
    self.isTrusted = isTrusted
    self.createdAt = createdAt
    self.progress = progress
  }

  public func wants(_ event: String) -> Bool {
    events.contains { Self.covers($0, event) }
  }

  /// Whether a pattern means this event.
  static func covers(_ pattern: String, _ event: String) -> Bool {
    if pattern == "*" || pattern == event { return true }
    return pattern.hasSuffix(".*") && event.hasPrefix(pattern.dropLast())
  }

  /// Those that sign now.
  func secrets(at now: Timestamp) -> [[UInt8]] {
    guard let previousSecret, let previousUntil, now < previousUntil else { return [secret] }
    return [secret, previousSecret]
  }
}

extension Hook.Progress {
  /// Everything up to here was taken.
  mutating func took(upTo position: Position, occurrence: Int64) {
    self = Hook.Progress(position: position, occurrence: occurrence)
  }

  /// What one attempt came to nothing for.
  public struct Refusal: Hashable, Sendable {
    public var reason: String
    /// What the other side asks to wait for, in seconds.
    public var retryAfter: Int?
    /// It wants no more of this (RFC 9110 15.5.11: 410).
    public var isGone: Bool
    public init(_ reason: String, retryAfter: Int? = nil, isGone: Bool = false) {
      self.reason = reason
      self.retryAfter = retryAfter
      self.isGone = isGone
    }
  }

  /// The event behind this place was not taken.
  ///
  /// - Parameter jitter: from 0 to 1, a part of the wait that is added, so that what failed together does not come again together.
  /// - Returns: whether it has been tried often enough: it goes among the failures, and the next one's turn comes.
  mutating func refused(_ refusal: Refusal, now: Timestamp, jitter: Double) -> Bool {
    failures += 1
    attempts += 1
    let since = failingSince ?? now
    failingSince = since
    reason = refusal.reason
    if refusal.isGone || now >= since + Limits.hookPatience {
      state = .disabled
      next = nil
      return false
    }
    var wait = min(Limits.hookRetry * (1 << min(failures - 1, 20)), Limits.hookRetryMax)
    wait += .milliseconds(Int64(jitter * Double(wait.components.seconds) * 100))
    if let asked = refusal.retryAfter { wait = max(wait, min(.seconds(asked), Limits.hookRetryMax)) }
    next = now + wait
    guard attempts >= Limits.hookAttemptsMax else { return false }
    attempts = 0
    return true
  }
}

/// What happens and is no entry of the log, kept for the hooks of its realm.
public struct Occurrence: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    case userCreated = 1
    case userDeleted = 2
    /// `detail`: the report's number.
    case reportCreated = 3
  }
  /// Increasing; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let kind: Kind
  /// Whom it is about.
  public let user: UserID
  public let detail: Int64
  public let time: Timestamp
  /// It happened when the log stood here.
  public let position: Position

  public init(
    id: Int64 = 0, realm: RealmID, kind: Kind, user: UserID, detail: Int64 = 0, time: Timestamp, position: Position
  ) {
    self.id = id
    self.realm = realm
    self.kind = kind
    self.user = user
    self.detail = detail
    self.time = time
    self.position = position
  }
}

/// An event that a hook did not take: a dead letter. What it says is not kept: it is written anew from what is stored when it is
/// sent again, so that what was taken back meanwhile stays so.
public struct HookFailure: Hashable, Sendable {
  /// 0 asks the store for a new one.
  public var id: Int64
  public let hook: Int64
  /// The entry; zero: an occurrence.
  public let position: Position
  public let occurrence: Int64
  public let event: String
  /// The webhook-id that it had, and will have.
  public let message: String
  public var failedAt: Timestamp
  public var reason: String
  /// It is to be sent again.
  public var isDue: Bool

  public init(
    id: Int64 = 0, hook: Int64, position: Position, occurrence: Int64, event: String, message: String,
    failedAt: Timestamp, reason: String, isDue: Bool = false
  ) {
    self.id = id
    self.hook = hook
    self.position = position
    self.occurrence = occurrence
    self.event = event
    self.message = message
    self.failedAt = failedAt
    self.reason = reason
    self.isDue = isDue
  }
}

public protocol HookReader {
  /// Of all realms, by id.
  func hooks() throws -> [Hook]
  func hook(_ id: Int64) throws -> Hook?
  /// Entries of all dialogs behind `after`, ascending. What was erased, or replaced by a later marker, is not there.
  func log(after: Position, limit: Int) throws -> [Entry]
  func entry(at position: Position) throws -> Entry?
  /// Ascending.
  func occurrences(in realm: RealmID, after: Int64, limit: Int) throws -> [Occurrence]
  func occurrence(_ id: Int64) throws -> Occurrence?
  /// The highest id that was given out; 0: none yet.
  func lastOccurrence() throws -> Int64
  /// Ascending, with ids above `after`.
  func hookFailures(of hook: Int64, after: Int64, limit: Int) throws -> [HookFailure]
  func dueHookFailures(of hook: Int64, limit: Int) throws -> [HookFailure]
  func hookFailureCount(of hook: Int64) throws -> Int
}

public protocol HookWriter {
  /// Inserts, or replaces all but the progress.
  func put(_ hook: Hook) throws
  /// Nothing where there is no such hook.
  func setProgress(_ progress: Hook.Progress, of hook: Int64) throws
  /// With its failures.
  func removeHook(_ id: Int64) throws
  func insert(_ occurrence: Occurrence) throws
  /// Those of a realm up to this one that no failure names.
  func removeOccurrences(in realm: RealmID, upTo id: Int64) throws
  /// Of one hook at most `keeping` stay, the newest. One of the same message is replaced.
  func insert(_ failure: HookFailure, keeping: Int) throws
  /// reason, failedAt, isDue.
  func update(_ failure: HookFailure) throws
  /// nil: all of them. Returns how many there were.
  func setHookFailuresDue(_ ids: [Int64]?, of hook: Int64) throws -> Int
  func removeHookFailures(_ ids: [Int64]?, of hook: Int64) throws -> Int
}
