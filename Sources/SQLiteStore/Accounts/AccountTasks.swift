import Basics
import Dialogs

/// The data that the tasks of accounts need.
extension Reader {
  func authored(
    by user: UserID, after: Position, limit: Int
  ) throws -> (messages: [(position: Position, dialog: DialogID)], reached: Position?) {
    var messages: [(position: Position, dialog: DialogID)] = []
    var reached: Position?
    _ = try connection(.authored, after, limit).all { row in
      let position = Position(row.int(0))
      reached = position
      if row.int(2) == user.number, row.int(3) == Int64(Fact.Kind.message.rawValue) {
        messages.append((position, DialogID(row.int(1))))
      }
    }
    return (messages, reached)
  }

  func blobs(of owner: UserID, after: BlobID?, limit: Int) throws -> [Blob] {
    try connection(.blobsOfUser, owner, after?.value.bytes ?? [], bound(limit))
      .all { try Self.id($0.bytes(0)) }
      .compactMap { try blob($0, .server(.rules)) }
  }

  func storedBlobs(after: BlobID?, limit: Int) throws -> [Blob] {
    try connection(.storedBlobs, after?.value.bytes ?? [], bound(limit)).all { try Self.id($0.bytes(0)) }
      .compactMap { try blob($0, .server(.rules)) }
  }
}

extension Query {
  fileprivate static let authored = Query(
    "SELECT position, dialog, author, kind FROM payloads WHERE position > ?1 ORDER BY position LIMIT ?2")
  fileprivate static let storedBlobs = Query("SELECT id FROM blobs WHERE id > ?1 AND state = 1 ORDER BY id LIMIT ?2")
  fileprivate static let blobsOfUser = Query(
    "SELECT id FROM blobs WHERE owner = ?1 AND id > ?2 AND state = 1 ORDER BY id LIMIT ?3")
}
