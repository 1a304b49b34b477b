public import Basics
import Synchronization

/// The ages at which messages, files and accounts go, and the bytes beyond which files do; without them nothing does.
public struct RetentionPolicy: Hashable, Sendable {
  /// The bounds of what one realm keeps.
  public struct Bounds: Hashable, Sendable {
    /// The age of messages in private dialogs, and of notes to oneself; `nil`: they stay.
    public var privately: Duration?
    /// The age of messages in group and public dialogs, whispers there included.
    public var rooms: Duration?
    /// The bytes of all files in messages, beyond which the oldest go; `nil`: they stay.
    public var fileBytes: Int64?

    public init(privately: Duration? = nil, rooms: Duration? = nil, fileBytes: Int64? = nil) {
      self.privately = privately
      self.rooms = rooms
      self.fileBytes = fileBytes
    }

    /// Whether messages go by age.
    var hasAges: Bool { privately != nil || rooms != nil }

    /// Returns the age at which messages of a dialog go: this, or a shorter one of the room's own; `nil`: they stay.
    func age(of dialog: AgingDialog) -> Duration? {
      let own = dialog.days.map { Duration.days($0) }
      return [dialog.isOfRoom ? rooms : privately, own].compactMap { $0 }.min()
    }
  }

  /// The bounds of realms that `byDomain` does not name.
  public var bounds = Bounds()
  public var byDomain: [String: Bounds] = [:]
  /// The time from a file's upload to its end (`Blob.expiresAt`), of those in messages.
  public var files: Duration?
  /// The time without use after which an account is deleted.
  public var accounts: Duration?

  public init() {}

  public func bounds(of domain: String) -> Bounds { byDomain[domain] ?? bounds }
}

extension Duration {
  /// Days of 24 hours.
  public static func days(_ days: Int) -> Duration { .seconds(days * 86_400) }
  /// Whole days of 24 hours.
  public var days: Int64 { components.seconds / 86_400 }
}

/// The result of one run of retention: the numbers of what it has removed, or would remove.
public struct RetentionReport: Hashable, Sendable {
  public let startedAt: Timestamp
  public var finishedAt: Timestamp
  public var messages = 0
  /// The dialogs of these messages.
  public var dialogs = 0
  public var files = 0
  public var accounts = 0
  /// The dialogs and accounts of which something stays because of a hold.
  public var held = 0
  /// The reason for which the run ended early; `nil` if it did not.
  public var failure: String?

  public init(startedAt: Timestamp) {
    self.startedAt = startedAt
    finishedAt = startedAt
  }
}

/// The policy in effect, which a reload replaces, and the last run.
public final class RetentionState: Sendable {
  private struct Value {
    var policy: RetentionPolicy
    var isRunning = false
    var last: RetentionReport?
  }
  private let value: Mutex<Value>

  init(_ policy: RetentionPolicy) { value = Mutex(Value(policy: policy)) }

  public var policy: RetentionPolicy {
    get { value.withLock(\.policy) }
    set { value.withLock { $0.policy = newValue } }
  }
  public var isRunning: Bool { value.withLock(\.isRunning) }
  /// The last run that removed; of the present process.
  public var last: RetentionReport? { value.withLock(\.last) }

  /// Begins a run. Returns `false` if one is under way.
  public func begin() -> Bool {
    value.withLock { value in
      if value.isRunning { return false }
      value.isRunning = true
      return true
    }
  }

  public func end(_ report: RetentionReport?) {
    value.withLock { value in
      value.isRunning = false
      if let report { value.last = report }
    }
  }
}
