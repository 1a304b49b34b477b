// Tasks that take longer than a request: deleting an account with all its data, and exporting a user's data.
//
// A task is a row before anyone is told that it will be done, and until it is. A process that ends in between leaves
// the row, and the next one continues (`Accounts.resumeAccountTasks`). Each step of a task may be done twice.

public import Basics

/// A task for one account.
public struct AccountTask: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Kind: UInt8, Sendable {
    /// Deletes the account; its messages remain with their recipients.
    case deletion = 0
    /// Deletes the account, and retracts all its messages.
    case erasure = 1
    /// Creates an archive of all of the user's data.
    case export = 2
  }
  /// The state of a task. Stored: never renumber. Completed deletions have no row.
  public enum State: UInt8, Sendable {
    case pending = 0
    case done = 1
    case failed = 2
    /// A completed export without some messages of others, of which an archive has a bound of bytes.
    case incomplete = 3
  }

  public let id: Int64
  public let user: UserID
  public let kind: Kind
  public var state: State
  public let createdAt: Timestamp
  public var finishedAt: Timestamp?
  /// The position up to which an erasure has retracted messages.
  public var reached: Position
  /// The number of attempts of an export that have begun, which is stored in place of `reached`.
  public var attempts: Int64 {
    get { reached.number }
    set { reached = Position(newValue) }
  }
  /// The file of a completed export; `nil` after its removal in favour of newer ones.
  public var blob: BlobID?
  /// The size of the file in bytes.
  public var size: Int64?

  /// Creates a task; `id` 0 asks the store for a new one.
  public init(
    id: Int64 = 0, user: UserID, kind: Kind, state: State = .pending, createdAt: Timestamp,
    finishedAt: Timestamp? = nil, reached: Position = .zero, blob: BlobID? = nil, size: Int64? = nil
  ) {
    self.id = id
    self.user = user
    self.kind = kind
    self.state = state
    self.createdAt = createdAt
    self.finishedAt = finishedAt
    self.reached = reached
    self.blob = blob
    self.size = size
  }
}

extension AccountTask.Kind: FieldCodable {}
extension AccountTask.State: FieldCodable {}

extension AccountTask: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, user, kind, state, createdAt = "created", finishedAt = "finished", reached, blob, size
  }
  public static let kind = "account_tasks"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, user.field, kind.field, state.field, createdAt.field, finishedAt.field, reached.field, blob.field,
      size.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), user: fields.next(), kind: fields.next(), state: fields.next(), createdAt: fields.next(),
      finishedAt: fields.next(), reached: fields.next(), blob: fields.next(), size: fields.next())
  }
}

extension RecordReader {
  public func accountTask(_ id: Int64) throws -> AccountTask? { try record(AccountTask.self, .equal(.id, id)) }

  /// Returns the user's tasks, the newest first.
  public func accountTasks(of user: UserID) throws -> [AccountTask] {
    try records(AccountTask.self, .equal(.user, user), isDescending: true)
  }

  /// Returns all users' pending tasks, the oldest first.
  public func pendingAccountTasks() throws -> [AccountTask] {
    try records(AccountTask.self, .equal(.state, AccountTask.State.pending))
  }
}

extension RecordWriter {
  public func removeAccountTask(_ id: Int64) throws { try remove(AccountTask.self, .equal(.id, id)) }
}

public protocol AccountTaskReader {
  /// Returns the messages of one author among the next `limit` entries of the whole log behind `after`, and the last
  /// entry that was read; `nil` if there was none.
  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?)
  /// Returns the readable files of a user, by id, behind `after`.
  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob]
}
