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
  public enum State: UInt8, Sendable { case pending = 0, done = 1, failed = 2 }

  public let id: Int64
  public let user: UserID
  public let kind: Kind
  public var state: State
  public let createdAt: Timestamp
  public var finishedAt: Timestamp?
  /// The position up to which an erasure has retracted messages.
  public var reached: Position
  /// The file of a completed export.
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

public protocol AccountTaskReader {
  func accountTask(_ id: Int64) throws -> AccountTask?
  /// Returns the user's tasks, the newest first.
  func accountTasks(of user: UserID) throws -> [AccountTask]
  /// Returns all users' pending tasks, the oldest first.
  func pendingAccountTasks() throws -> [AccountTask]
  /// Returns the messages of one author among the next `limit` entries of the whole log behind `after`, and the last
  /// entry that was read; `nil` if there was none.
  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?)
  /// Returns the readable files of a user, by id, behind `after`.
  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob]
  /// Returns all items of the vault under `node`.
  func vaultItems(of user: UserID, node: String) throws -> [[UInt8]]
}

public protocol AccountTaskWriter {
  /// Stores a task, and returns it with its id.
  func insert(_ task: AccountTask) throws -> AccountTask
  func update(_ task: AccountTask) throws
  func removeAccountTask(_ id: Int64) throws
  /// Expires all files of a user.
  func endBlobs(of owner: UserID) throws
}
