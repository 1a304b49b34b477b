// What takes longer than a request: taking an account away with all that belongs to it, and gathering all that is somebody's own.
//
// Such a task is a row before anybody is told that it will be done, and until it is. A process that ends in between leaves the
// row, and the next one goes on (`Parley.resumeAccountTasks`). Each step of a task may be done twice.

public import Basics

/// Something to be done for one account.
public struct AccountTask: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Kind: UInt8, Sendable {
    /// The account goes; what was said stays with those it was said to.
    case deletion = 0
    /// The account goes, and everything that was said is taken back.
    case erasure = 1
    /// An archive of all that is the user's.
    case export = 2
  }
  /// Stored: never renumber. Deletions that are done have no row any more.
  public enum State: UInt8, Sendable { case pending = 0, done = 1, failed = 2 }

  public let id: Int64
  public let user: UserID
  public let kind: Kind
  public var state: State
  public let createdAt: Timestamp
  public var finishedAt: Timestamp?
  /// Of an erasure: what was said up to here has been taken back.
  public var reached: Position
  /// Of an export that is done.
  public var blob: BlobID?
  /// Bytes of it.
  public var size: Int64?

  /// `id` 0 asks the store for a new one.
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
  /// The newest first.
  func accountTasks(of user: UserID) throws -> [AccountTask]
  /// Everybody's, the oldest first.
  func pendingAccountTasks() throws -> [AccountTask]
  /// The messages of one author among the next `limit` entries of the whole log behind `after`, and the last entry that was
  /// looked at; nil: there was none.
  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?)
  /// Files of a user that may be read, by id, behind `after`.
  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob]
  /// All items of the vault under `node`.
  func vaultItems(of user: UserID, node: String) throws -> [[UInt8]]
}

public protocol AccountTaskWriter {
  /// Returns it with its number.
  func insert(_ task: AccountTask) throws -> AccountTask
  func update(_ task: AccountTask) throws
  func removeAccountTask(_ id: Int64) throws
  /// All files of a user are over.
  func endBlobs(of owner: UserID) throws
}
