public import Basics

/// Reads files, without their bytes.
public protocol FileReader {
  func blob(_ id: BlobID, _ access: FileAccess) throws -> Blob?
  /// Returns a user's use of file storage, with the requests within `Limits.blobDay` before `time`.
  func blobUse(of owner: UserID, at time: Timestamp) throws -> BlobUse
  /// Returns the stored files of all users behind an id, ascending.
  func storedBlobs(after: BlobID?, limit: Int) throws -> [Blob]
  /// Returns the bytes of the files in messages of a realm, from a time on.
  func bytes(of files: FilesByAge) throws -> Int64
  /// Returns such files behind one of them, the oldest first.
  func files(_ files: FilesByAge, after: Blob?, limit: Int) throws -> [Blob]
  /// Returns whether a file must stay: it is a held user's, or in a message of a held dialog (`isHeld(_: DialogID)`).
  func isHeld(_ file: BlobID) throws -> Bool
  /// Returns stored files that have expired at `time` and are not held, awaited ones whose slot has ended
  /// (`Blob.slotEnd`), and removed or refused ones that no longer count for the day.
  func dueBlobs(at time: Timestamp, limit: Int) throws -> [BlobID]
}

/// Changes files, without their bytes.
public protocol FileWriter {
  /// Inserts or replaces a blob.
  func put(_ blob: Blob) throws
  /// Removes a blob with its references.
  func removeBlob(_ id: BlobID) throws
  func insertBlobReference(to id: BlobID, by position: Position) throws
  /// Removes the references of a message and its corrections. The stored blobs of `owner` among them without other
  /// references expire at `ending`; `nil` keeps them.
  ///
  /// - Returns: the bytes of the blobs that now expire at `ending`, and would not have by then; none of ephemeral ones, as exports are.
  @discardableResult
  func releaseBlobs(of position: Position, by owner: UserID, ending: Timestamp?) throws -> Int64
}

/// The stored files in messages of a realm, by the time of their upload.
public struct FilesByAge: Hashable, Sendable {
  public let realm: RealmID
  /// The time of the upload of the oldest of them, at the earliest.
  public let since: Timestamp
  /// The time at which they have not ended.
  public let now: Timestamp

  public init(realm: RealmID, since: Timestamp, now: Timestamp) {
    self.realm = realm
    self.since = since
    self.now = now
  }
}
