import Basics
import Dialogs

/// The tasks of accounts, and the data they need.
extension Reader {
  func accountTask(_ id: Int64) throws -> AccountTask? {
    try connection(.accountTask).bind(1, id).first(Self.accountTask)
  }

  func accountTasks(of user: UserID) throws -> [AccountTask] {
    try connection(.accountTasksOfUser).bind(1, user.number).all(Self.accountTask)
  }

  func pendingAccountTasks() throws -> [AccountTask] { try connection(.pendingAccountTasks).all(Self.accountTask) }

  private static func accountTask(_ row: Prepared) throws -> AccountTask {
    guard let kind = AccountTask.Kind(rawValue: UInt8(clamping: row.int(2))),
      let state = AccountTask.State(rawValue: UInt8(clamping: row.int(3)))
    else { throw StoreFailure.corrupt("task \(row.int(0)) of an account is of an unknown kind") }
    return AccountTask(
      id: row.int(0), user: UserID(row.int(1)), kind: kind, state: state,
      createdAt: Timestamp(milliseconds: row.int(4)),
      finishedAt: row.intOrNil(5).map { Timestamp(milliseconds: $0) }, reached: Position(row.int(6)),
      blob: row.textOrNil(7).flatMap { BlobID($0) }, size: row.intOrNil(8))
  }

  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?) {
    var messages: [(position: Position, dialog: DialogID)] = []
    var reached: Position?
    _ = try connection(.authored).bind(1, after.number).bind(2, Int64(limit)).all { row in
      let position = Position(row.int(0))
      reached = position
      if row.int(2) == user.number, row.int(3) == Int64(Fact.Kind.message.rawValue) {
        messages.append((position, DialogID(row.int(1))))
      }
    }
    return (messages, reached)
  }

  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob] {
    try connection(.blobsOfUser).bind(1, owner.number).bind(2, after?.value.bytes ?? []).bind(3, bound(limit))
      .all { try Self.id($0.bytes(0)) }
      .compactMap { try blob($0) }
  }

  func vaultItems(of user: UserID, node: String) throws -> [[UInt8]] {
    try connection(.vaultItems).bind(1, user.number).bind(2, node).all { $0.bytes(0) }
  }
}

extension Writer {
  func insert(_ task: AccountTask) throws -> AccountTask {
    let id = try connection(.insertAccountTask).bind(1, task.user.number).bind(2, Int64(task.kind.rawValue))
      .bind(3, Int64(task.state.rawValue)).bind(4, task.createdAt.milliseconds)
      .bind(5, task.finishedAt?.milliseconds).bind(6, task.reached.number).bind(7, task.blob?.description)
      .bind(8, task.size).first { $0.int(0) }
    guard let id else { throw StoreFailure.corrupt("a new task got no number") }
    return AccountTask(
      id: id, user: task.user, kind: task.kind, state: task.state, createdAt: task.createdAt,
      finishedAt: task.finishedAt, reached: task.reached, blob: task.blob, size: task.size)
  }

  func update(_ task: AccountTask) throws {
    try connection(.updateAccountTask).bind(1, task.id).bind(2, Int64(task.state.rawValue))
      .bind(3, task.finishedAt?.milliseconds).bind(4, task.reached.number).bind(5, task.blob?.description)
      .bind(6, task.size).run()
  }

  func removeAccountTask(_ id: Int64) throws { try connection(.deleteAccountTask).bind(1, id).run() }

  func endBlobs(of owner: UserID) throws { try connection(.endAllBlobsOfUser).bind(1, owner.number).run() }
}

extension Query {
  private static let columns = "id, user, kind, state, created, finished, reached, blob, size"
  fileprivate static let accountTask = Query("SELECT \(columns) FROM account_tasks WHERE id = ?1")
  fileprivate static let accountTasksOfUser = Query(
    "SELECT \(columns) FROM account_tasks WHERE user = ?1 ORDER BY id DESC")
  /// The condition is spelt as in the index.
  fileprivate static let pendingAccountTasks = Query(
    "SELECT \(columns) FROM account_tasks WHERE state = 0 ORDER BY id")
  fileprivate static let insertAccountTask = Query(
    """
    INSERT INTO account_tasks (user, kind, state, created, finished, reached, blob, size)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id
    """)
  fileprivate static let updateAccountTask = Query(
    "UPDATE account_tasks SET state = ?2, finished = ?3, reached = ?4, blob = ?5, size = ?6 WHERE id = ?1")
  fileprivate static let deleteAccountTask = Query("DELETE FROM account_tasks WHERE id = ?1")
  fileprivate static let authored = Query(
    "SELECT position, dialog, author, kind FROM payloads WHERE position > ?1 ORDER BY position LIMIT ?2")
  fileprivate static let vaultItems = Query("SELECT bytes FROM vault WHERE user = ?1 AND node = ?2 ORDER BY item")
  fileprivate static let blobsOfUser = Query(
    "SELECT id FROM blobs WHERE owner = ?1 AND id > ?2 AND state = 1 ORDER BY id LIMIT ?3")
  fileprivate static let endAllBlobsOfUser = Query(
    "UPDATE blobs SET expires = 0, state = 1 WHERE owner = ?1 AND state <> 2")
}
