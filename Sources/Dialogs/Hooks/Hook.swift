public import Basics

/// A webhook of the app's backend for the events of a realm: a follower of the log with a position of its own.
public struct Hook: Hashable, Sendable {
  /// The state of a hook. Stored: never renumber.
  public enum State: UInt8, Hashable, Sendable {
    case active = 1
    /// No event is sent. The position is kept, so that none is lost.
    case disabled = 2
  }

  public let id: Int64
  public let realm: RealmID
  public var url: String
  /// The names of events, `message.*`, or `*`.
  public var events: [String]
  /// The secret that signs requests; stored in plain text, as signing needs it.
  public var secret: [UInt8]
  /// The previous secret, which also signs until `previousUntil`.
  public var previousSecret: [UInt8]?
  public var previousUntil: Timestamp?
  /// Whether the operator set the URL, which may then lead anywhere; otherwise only to public addresses.
  public let isTrusted: Bool
  public let createdAt: Timestamp
  public var progress: Progress

  /// The progress of a hook.
  public struct Progress: Hashable, Sendable {
    public var state = State.active
    /// The position up to which everything was delivered, or recorded as a failure.
    public var position: Position
    /// The same for occurrences, which are no entries of the log.
    public var occurrence: Int64
    /// The number of attempts for the first undelivered event.
    public var attempts = 0
    /// The number of failed attempts in a row, and the time of the first.
    public var failures = 0
    public var failingSince: Timestamp?
    /// The time of the next attempt; `nil` for now.
    public var next: Timestamp?
    /// The reason of the last failure.
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

  /// Returns whether a pattern matches an event.
  static func covers(_ pattern: String, _ event: String) -> Bool {
    if pattern == "*" || pattern == event { return true }
    return pattern.hasSuffix(".*") && event.hasPrefix(pattern.dropLast())
  }

  /// The secrets that sign now.
  func secrets(at now: Timestamp) -> [[UInt8]] {
    guard let previousSecret, let previousUntil, now < previousUntil else { return [secret] }
    return [secret, previousSecret]
  }
}

extension Hook.Progress {
  /// Records that everything up to here was delivered.
  mutating func took(upTo position: Position, occurrence: Int64) {
    self = Hook.Progress(position: position, occurrence: occurrence)
  }

  /// The failure of one attempt.
  public struct Refusal: Hashable, Sendable {
    public var reason: String
    /// The seconds that the receiver asks to wait.
    public var retryAfter: Int?
    /// Whether the receiver wants no more events (RFC 9110 15.5.11: 410).
    public var isGone: Bool
    public init(_ reason: String, retryAfter: Int? = nil, isGone: Bool = false) {
      self.reason = reason
      self.retryAfter = retryAfter
      self.isGone = isGone
    }
  }

  /// Records a failed attempt for the next event.
  ///
  /// - Parameter jitter: a part of the wait from 0 to 1 that is added, so that concurrent failures are not repeated at
  ///   once.
  /// - Returns: whether the attempts are used up: the event is recorded as a failure, and the next one follows.
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

/// An event that is no entry of the log, stored for the hooks of its realm.
public struct Occurrence: Hashable, Sendable {
  /// The kind of an occurrence. Stored: never renumber.
  public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    case userCreated = 1
    case userDeleted = 2
    /// A report; `detail` is its id.
    case reportCreated = 3
  }
  /// The id, which increases; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let kind: Kind
  /// The user concerned.
  public let user: UserID
  public let detail: Int64
  public let time: Timestamp
  /// The head of the log when it happened.
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

/// An event that could not be delivered to a hook: a dead letter. Its content is not stored: it is rendered again from
/// the store when it is sent again, so that retracted messages stay retracted.
public struct HookFailure: Hashable, Sendable {
  /// The id; 0 asks the store for a new one.
  public var id: Int64
  public let hook: Int64
  /// The position of the entry; zero for an occurrence.
  public let position: Position
  public let occurrence: Int64
  public let event: String
  /// The webhook-id, which stays the same.
  public let message: String
  public var failedAt: Timestamp
  public var reason: String
  /// Whether it is to be sent again.
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
  /// Returns the hooks of all realms, by id.
  func hooks() throws -> [Hook]
  func hook(_ id: Int64) throws -> Hook?
  /// Returns entries of all dialogs behind `after`, ascending, without those that were erased, or replaced by a later
  /// marker.
  func log(after: Position, limit: Int) throws -> [Entry]
  func entry(at position: Position) throws -> Entry?
  /// Returns occurrences, ascending.
  func occurrences(in realm: RealmID, after: Int64, limit: Int) throws -> [Occurrence]
  func occurrence(_ id: Int64) throws -> Occurrence?
  /// Returns the highest id so far; 0 if there is none.
  func lastOccurrence() throws -> Int64
  /// Returns failures with ids above `after`, ascending.
  func hookFailures(of hook: Int64, after: Int64, limit: Int) throws -> [HookFailure]
  func dueHookFailures(of hook: Int64, limit: Int) throws -> [HookFailure]
  func hookFailureCount(of hook: Int64) throws -> Int
}

public protocol HookWriter {
  /// Inserts a hook, or replaces everything but its progress.
  func put(_ hook: Hook) throws
  /// Stores the progress; does nothing if there is no such hook.
  func setProgress(_ progress: Hook.Progress, of hook: Int64) throws
  /// Removes a hook with its failures.
  func removeHook(_ id: Int64) throws
  func insert(_ occurrence: Occurrence) throws
  /// Removes a realm's occurrences up to this one, except those that a failure refers to.
  func removeOccurrences(in realm: RealmID, upTo id: Int64) throws
  /// Stores a failure, replacing one of the same message; a hook keeps its newest `keeping`.
  func insert(_ failure: HookFailure, keeping: Int) throws
  /// Updates reason, failedAt and isDue.
  func update(_ failure: HookFailure) throws
  /// Marks failures, or all of them, as due. Returns their number.
  func setHookFailuresDue(_ ids: [Int64]?, of hook: Int64) throws -> Int
  func removeHookFailures(_ ids: [Int64]?, of hook: Int64) throws -> Int
}
