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
    /// The same for outbox events, which are no entries of the log.
    public var outboxEvent: Int64
    /// The number of attempts for the first undelivered event.
    public var attempts = 0
    /// The number of failed attempts in a row, and the time of the first.
    public var failures = 0
    public var failingSince: Timestamp?
    /// The time of the next attempt; `nil` for now.
    public var next: Timestamp?
    /// The reason of the last failure.
    public var reason: String?

    public init(position: Position, outboxEvent: Int64) {
      self.position = position
      self.outboxEvent = outboxEvent
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
}

/// A dialog with more events than a hook takes in the order of the log: it has a position of its own, up to which everything of it was
/// delivered, or recorded as a failure. The hook's progress leaves its entries out.
public struct HookLane: Hashable, Sendable {
  public let hook: Int64
  public let dialog: DialogID
  public var position: Position

  public init(hook: Int64, dialog: DialogID, position: Position) {
    self.hook = hook
    self.dialog = dialog
    self.position = position
  }
}

/// An event that is no entry of the log, stored for the hooks of its realm in the transaction in which it happens (a
/// transactional outbox).
public struct OutboxEvent: Hashable, Sendable {
  /// The kind of an outbox event. Stored: never renumber.
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
  /// The position of the entry; zero for an outbox event.
  public let position: Position
  public let outboxEvent: Int64
  public let event: String
  /// The webhook-id, which stays the same.
  public let message: String
  public var failedAt: Timestamp
  public var reason: String
  /// Whether it is to be sent again.
  public var isDue: Bool

  public init(
    id: Int64 = 0, hook: Int64, position: Position, outboxEvent: Int64, event: String, message: String,
    failedAt: Timestamp, reason: String, isDue: Bool = false
  ) {
    self.id = id
    self.hook = hook
    self.position = position
    self.outboxEvent = outboxEvent
    self.event = event
    self.message = message
    self.failedAt = failedAt
    self.reason = reason
    self.isDue = isDue
  }
}

extension Hook.State: FieldCodable {}
extension OutboxEvent.Kind: FieldCodable {}

extension Hook: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, url, events, secret, previousSecret = "previous", previousUntil = "previous_until",
      isTrusted = "trusted", createdAt = "created", state, position, outboxEvent = "occurrence", attempts, failures,
      failingSince = "failing_since", next, reason
  }
  public static let kind = "hooks"
  public static let key: [Field] = [.id]
  public var fields: [FieldValue] {
    [
      id.field, realm.field, url.field, events.joined(separator: " ").field, secret.field, previousSecret.field,
      previousUntil.field, isTrusted.field, createdAt.field, progress.state.field, progress.position.field,
      progress.outboxEvent.field, progress.attempts.field, progress.failures.field, progress.failingSince.field,
      progress.next.field, progress.reason.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    realm = try fields.next()
    url = try fields.next()
    let names: String = try fields.next()
    events = names.split(separator: " ").map(String.init)
    secret = try fields.next()
    previousSecret = try fields.next()
    previousUntil = try fields.next()
    isTrusted = try fields.next()
    createdAt = try fields.next()
    let state: State = try fields.next()
    progress = try Progress(position: fields.next(), outboxEvent: fields.next())
    progress.state = state
    progress.attempts = try fields.next()
    progress.failures = try fields.next()
    progress.failingSince = try fields.next()
    progress.next = try fields.next()
    progress.reason = try fields.next()
  }
}

extension HookLane: Record {
  public enum Field: String, CaseIterable, Sendable { case hook, dialog, position }
  public static let kind = "hook_lanes"
  public static let key: [Field] = [.hook, .dialog]
  public var fields: [FieldValue] { [hook.field, dialog.field, position.field] }
  public init(_ fields: inout FieldReader) throws {
    hook = try fields.next()
    dialog = try fields.next()
    position = try fields.next()
  }
}

extension OutboxEvent: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, kind, user, detail, time, position
  }
  public static let kind = "occurrences"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [id.field, realm.field, kind.field, user.field, detail.field, time.field, position.field]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), realm: fields.next(), kind: fields.next(), user: fields.next(), detail: fields.next(),
      time: fields.next(), position: fields.next())
  }
}

extension HookFailure: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, hook, position, outboxEvent = "occurrence", event, message, failedAt = "failed", reason, isDue = "due"
  }
  public static let kind = "hook_failures"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, hook.field, position.field, outboxEvent.field, event.field, message.field, failedAt.field,
      reason.field, isDue.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), hook: fields.next(), position: fields.next(), outboxEvent: fields.next(), event: fields.next(),
      message: fields.next(), failedAt: fields.next(), reason: fields.next(), isDue: fields.next())
  }
}

public protocol HookReader {
  /// Returns entries of all dialogs behind `after`, ascending, without those that were erased, or replaced by a later
  /// marker.
  func log(for reason: ServerReason, after: Position, limit: Int) throws -> [Entry]
  func entry(at position: Position, for reason: ServerReason) throws -> Entry?
  /// Returns the highest id of an outbox event so far, removed ones included; 0 if there is none.
  func lastOutboxEvent() throws -> Int64
}

public protocol HookWriter {
  /// Removes a realm's outbox events up to this one, except those that a failure refers to.
  func removeOutboxEvents(in realm: RealmID, upTo id: Int64) throws
}

extension RecordReader {
  /// Returns the hooks of all realms, by id.
  public func hooks() throws -> [Hook] { try records(Hook.self) }
  public func hook(_ id: Int64) throws -> Hook? { try record(Hook.self, .equal(.id, id)) }

  /// Returns the dialogs that are behind a hook's progress, by id.
  public func hookLanes(of hook: Int64) throws -> [HookLane] { try records(HookLane.self, .equal(.hook, hook)) }

  /// Returns outbox events, ascending.
  public func outboxEvents(in realm: RealmID, after: Int64, limit: Int) throws -> [OutboxEvent] {
    try records(OutboxEvent.self, .equal(.realm, realm), .above(.id, after), limit: limit)
  }
  public func outboxEvent(_ id: Int64) throws -> OutboxEvent? { try record(OutboxEvent.self, .equal(.id, id)) }

  /// Returns failures with ids above `after`, ascending.
  public func hookFailures(of hook: Int64, after: Int64, limit: Int) throws -> [HookFailure] {
    try records(HookFailure.self, .equal(.hook, hook), .above(.id, after), limit: limit)
  }
  public func dueHookFailures(of hook: Int64, limit: Int) throws -> [HookFailure] {
    try records(HookFailure.self, .equal(.hook, hook), .equal(.isDue, true), limit: limit)
  }
  public func hookFailureCount(of hook: Int64) throws -> Int { try count(HookFailure.self, .equal(.hook, hook)) }
}

extension RecordWriter {
  /// Inserts a hook, or replaces everything but its progress.
  public func put(keepingProgress hook: Hook) throws {
    var hook = hook
    if let stored = try self.hook(hook.id) { hook.progress = stored.progress }
    try put(hook)
  }

  /// Stores the progress; does nothing if there is no such hook.
  public func setProgress(_ progress: Hook.Progress, of hook: Int64) throws {
    guard var stored = try self.hook(hook) else { return }
    stored.progress = progress
    try put(stored)
  }

  /// Removes a hook with its failures and lanes.
  public func removeHook(_ id: Int64) throws {
    try remove(Hook.self, .equal(.id, id))
    try remove(HookLane.self, .equal(.hook, id))
    try remove(HookFailure.self, .equal(.hook, id))
  }

  /// Stores an outbox event. Those more than `Limits.outboxEventsMax` numbers behind it are removed.
  public func insert(_ outboxEvent: OutboxEvent) throws {
    let last = try put(outboxEvent).id
    try remove(
      OutboxEvent.self, .equal(.realm, outboxEvent.realm), .atMost(.id, last - Int64(Limits.outboxEventsMax)))
  }

  /// Stores a failure, replacing one of the same message; a hook keeps its newest `keeping`.
  public func insert(_ failure: HookFailure, keeping: Int) throws {
    try remove(HookFailure.self, .equal(.hook, failure.hook), .equal(.message, failure.message))
    try put(failure)
    let surplus = try hookFailureCount(of: failure.hook) - keeping
    guard surplus > 0, let last = try hookFailures(of: failure.hook, after: 0, limit: surplus).last else { return }
    try remove(HookFailure.self, .equal(.hook, failure.hook), .atMost(.id, last.id))
  }

  /// Marks failures, or all of them, as due. Returns their number.
  public func setHookFailuresDue(_ ids: [Int64]?, of hook: Int64) throws -> Int {
    try Self.queries(ids, of: hook).reduce(0) { try $0 + update($1, [.isDue: true.field]) }
  }

  public func removeHookFailures(_ ids: [Int64]?, of hook: Int64) throws -> Int {
    try Self.queries(ids, of: hook).reduce(0) { try $0 + remove($1) }
  }

  private static func queries(_ ids: [Int64]?, of hook: Int64) -> [RecordQuery<HookFailure>] {
    guard let ids else { return [RecordQuery([.equal(.hook, hook)])] }
    return Set(ids).map { RecordQuery([.equal(.hook, hook), .equal(.id, $0)]) }
  }
}
