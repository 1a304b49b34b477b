import Basics
import Dialogs

/// The metadata of users' files.
extension Reader {
  func blob(_ id: BlobID, _ access: FileAccess) throws -> Blob? {
    let found = try connection(.blob, id.value.bytes).first { try Self.blob($0, id) }
    return found.flatMap { access.realm == nil || access.realm == $0.realm ? $0 : nil }
  }

  private static func blob(_ row: Prepared, _ id: BlobID) throws(StoreFailure) -> Blob {
    guard let purpose = Blob.Purpose(rawValue: UInt8(clamping: row.int(5))),
      let state = Blob.State(rawValue: UInt8(clamping: row.int(6)))
    else { throw StoreFailure.corrupt("a file is of an unknown kind") }
    return Blob(
      id: id, realm: RealmID(row.int(0)), owner: UserID(row.int(1)), name: row.text(2), mediaType: row.textOrNil(3),
      size: row.int(4), purpose: purpose, state: state, createdAt: Timestamp(milliseconds: row.int(7)),
      expiresAt: row.intOrNil(8).map { Timestamp(milliseconds: $0) }, sha256: row.bytesOrNil(9),
      shape: Blob.Shape(
        width: row.intOrNil(10).map { Int($0) }, height: row.intOrNil(11).map { Int($0) },
        milliseconds: row.intOrNil(12).map { Int($0) }),
      isResumable: row.int(13) != 0,
      thumbnail: row.intOrNil(14).flatMap { width in
        row.intOrNil(15).flatMap { ImageSize(width: Int(width), height: Int($0)) }
      })
  }

  func blobUse(of owner: UserID, at time: Timestamp) throws -> BlobUse {
    let recent = Self.before(time, Limits.blobDay)
    let slots = Self.before(time, Limits.slotTime)
    let use = try connection(.blobUse, owner, time, recent, slots, Self.before(time, Limits.resumableSlotTime))
      .first { row in
        var use = BlobUse()
        (use.count, use.bytes, use.awaited) = (Int(row.int(0)), row.int(1), Int(row.int(2)))
        use.recentBytes = row.int(3)
        use.oldestRecent = row.intOrNil(4).map { Timestamp(milliseconds: $0) }
        use.resumable = Int(row.int(5))
        return use
      }
    return use ?? BlobUse()
  }

  func bytes(of files: FilesByAge) throws -> Int64 {
    try connection(.bytesOfFiles, files.realm, files.since, files.now).first { $0.int(0) } ?? 0
  }

  func files(_ files: FilesByAge, after: Blob?, limit: Int) throws -> [Blob] {
    let (time, id) = (after?.createdAt ?? files.since, after?.id.value.bytes ?? [])
    return try connection(.filesByAge, files.realm, time, files.now, id, bound(limit))
      .all { try Self.id($0.bytes(0)) }.compactMap { try blob($0, .server(.rules)) }
  }

  func isHeld(_ file: BlobID) throws -> Bool {
    try connection(.isFileHeld, file.value.bytes).first { $0.int(0) } == 1
  }

  func dueBlobs(at time: Timestamp, limit: Int) throws -> [BlobID] {
    try connection(
      .dueBlobs, time, Self.before(time, Limits.slotTime), Self.before(time, Limits.blobDay), bound(limit),
      Self.before(time, Limits.resumableSlotTime)
    ).all { try Self.id($0.bytes(0)) }
  }

  private static func before(_ time: Timestamp, _ span: Duration) -> Int64 {
    time.milliseconds - span.components.seconds * 1_000
  }

  static func id(_ bytes: [UInt8]) throws(StoreFailure) -> BlobID {
    guard bytes.count == 16 else { throw StoreFailure.corrupt("a file has no id") }
    return BlobID(PublicID(bytes: bytes))
  }
}

extension Writer {
  func put(_ blob: Blob) throws {
    try connection(.putBlob, blob.id.value.bytes, blob.realm, blob.owner, blob.name, blob.mediaType, blob.size).bind(
      blob.purpose.rawValue, blob.state.rawValue, blob.createdAt, blob.expiresAt, blob.sha256,
      blob.shape.width.map { Int64($0) }
    ).bind(
      blob.shape.height.map { Int64($0) }, blob.shape.milliseconds.map { Int64($0) }, blob.isResumable,
      blob.thumbnail.map { Int64($0.width) }, blob.thumbnail.map { Int64($0.height) }
    ).run()
  }

  func removeBlob(_ id: BlobID) throws {
    try connection(.deleteBlob, id.value.bytes).run()
    try connection(.deleteReferencesToBlob, id.value.bytes).run()
  }

  func insertBlobReference(to id: BlobID, by position: Position) throws {
    try connection(.insertBlobReference, position, id.value.bytes).run()
  }

  @discardableResult
  func releaseBlobs(of position: Position, by owner: UserID, ending: Timestamp?) throws -> Int64 {
    let messages = try connection(.editsNaming, position).all { $0.int(0) } + [position.number]
    var named: Set<[UInt8]> = []
    for message in messages {
      named.formUnion(try connection(.blobsNamedBy, message).all { $0.bytes(0) })
      try connection(.deleteBlobReferencesOf, message).run()
    }
    guard let ending else { return 0 }
    var bytes: Int64 = 0
    for id in named {
      bytes += try connection(.endBlob, id, owner, ending).first { $0.int(0) } ?? 0
    }
    return bytes
  }
}

extension FactCoding {
  /// The version of the encoding with thumbnails.
  private static let attachmentsVersion: Int64 = 2

  /// Encodes attachments; `nil` if there are none.
  static func encode(_ attachments: [Attachment]) -> [UInt8]? {
    if attachments.isEmpty { return nil }
    var out = ByteWriter()
    out.write(attachmentsVersion)
    out.write(attachments) {
      $0.write($1.blob) { $0.write($1.value.bytes) }
      $0.write($1.url)
      $0.write($1.name) { $0.write($1) }
      $0.write($1.mediaType) { $0.write($1) }
      $0.write($1.size) { $0.write($1) }
      $0.write($1.sha256) { $0.write($1) }
      $0.write($1.shape.width) { $0.write(Int64($1)) }
      $0.write($1.shape.height) { $0.write(Int64($1)) }
      $0.write($1.shape.milliseconds) { $0.write(Int64($1)) }
      $0.write($1.thumbnail) {
        $0.write($1.url)
        $0.write($1.mediaType) { $0.write($1) }
        $0.write($1.width) { $0.write(Int64($1)) }
        $0.write($1.height) { $0.write(Int64($1)) }
      }
    }
    return out.bytes
  }

  /// Decodes attachments.
  static func decode(attachments bytes: [UInt8]?) throws(StoreFailure) -> [Attachment] {
    guard let bytes else { return [] }
    var from = ByteReader(bytes)
    let version = try from.int()
    guard (1...attachmentsVersion).contains(version) else { throw damaged }
    return try from.list { from throws(StoreFailure) in
      Attachment(
        blob: try from.optional { from throws(StoreFailure) in try Reader.id(try from.array()) },
        url: try from.text(), name: try from.optional(text), mediaType: try from.optional(text),
        size: try from.optional { from throws(StoreFailure) in try from.int() },
        sha256: try from.optional { from throws(StoreFailure) in try from.array() },
        shape: Blob.Shape(
          width: try from.optional(number), height: try from.optional(number), milliseconds: try from.optional(number)),
        thumbnail: version == 1 ? nil : try from.optional(thumbnail))
    }
  }

  private static func thumbnail(_ from: inout ByteReader) throws(StoreFailure) -> Attachment.Thumbnail {
    Attachment.Thumbnail(
      url: try from.text(), mediaType: try from.optional(text), width: try from.optional(number),
      height: try from.optional(number))
  }

  private static func number(_ from: inout ByteReader) throws(StoreFailure) -> Int { Int(clamping: try from.int()) }
}

extension Query {
  private static let columns = """
    realm, owner, name, media_type, size, purpose, state, created, expires, sha256, width, height, duration,
    resumable, thumbnail_width, thumbnail_height
    """
  fileprivate static let blob = Query("SELECT \(columns) FROM blobs WHERE id = ?1")
  fileprivate static let putBlob = Query(
    """
    INSERT OR REPLACE INTO blobs (id, \(columns))
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
    """)
  fileprivate static let deleteBlob = Query("DELETE FROM blobs WHERE id = ?1")
  /// A slot that was not filled in time does not count.
  fileprivate static let blobUse = Query(
    """
    SELECT count(*), coalesce(sum(isHere * size), 0), coalesce(sum(state = 0), 0),
      coalesce(sum((created > ?3) * size), 0), min(iif(created > ?3, created, NULL)),
      coalesce(sum(state = 0 AND resumable), 0)
    FROM (
      SELECT state, created, size, resumable,
        state IN (0, 1) AND (state = 0 OR expires IS NULL OR expires > ?2) AS isHere
      FROM blobs WHERE owner = ?1 AND (state <> 0 OR created > iif(resumable, ?5, ?4)))
    """)
  /// The condition of the index `blobs_by_age`: `Blob.State.stored`, and not `Blob.Purpose.profile`.
  private static let isFileOfMessage = "realm = ?1 AND state = 1 AND purpose <> 1 AND (expires IS NULL OR expires > ?3)"
  fileprivate static let bytesOfFiles = Query(
    "SELECT coalesce(sum(size), 0) FROM blobs WHERE \(isFileOfMessage) AND created >= ?2")
  fileprivate static let filesByAge = Query(
    """
    SELECT id FROM blobs WHERE \(isFileOfMessage) AND (created, id) > (?2, ?4) ORDER BY created, id LIMIT ?5
    """)
  /// The condition that the file `b` belongs to a user with a hold, or to a message of a dialog with one.
  private static let isHeld = """
    (EXISTS (SELECT 1 FROM holds h WHERE h.user = b.owner)
      OR EXISTS (SELECT 1 FROM blob_references r CROSS JOIN payloads p ON p.position = r.position
        CROSS JOIN dialogs d ON d.id = p.dialog WHERE r.blob = b.id AND \(isDialogHeld)))
    """
  fileprivate static let isFileHeld = Query("SELECT \(isHeld) FROM blobs b WHERE b.id = ?1")
  fileprivate static let dueBlobs = Query(
    """
    SELECT id FROM blobs b WHERE state = 1 AND expires IS NOT NULL AND expires <= ?1 AND NOT \(isHeld)
    UNION ALL SELECT id FROM blobs WHERE state <> 1 AND state = 0 AND created <= iif(resumable, ?5, ?2)
      AND created <= ?2
    UNION ALL SELECT id FROM blobs WHERE state <> 1 AND state IN (2, 3) AND created <= ?3
    LIMIT ?4
    """)
  fileprivate static let insertBlobReference = Query(
    "INSERT OR IGNORE INTO blob_references (position, blob) VALUES (?1, ?2)")
  fileprivate static let blobsNamedBy = Query("SELECT blob FROM blob_references WHERE position = ?1")
  fileprivate static let deleteBlobReferencesOf = Query("DELETE FROM blob_references WHERE position = ?1")
  fileprivate static let deleteReferencesToBlob = Query("DELETE FROM blob_references WHERE blob = ?1")
  fileprivate static let editsNaming = Query("SELECT position FROM changes WHERE target = ?1 AND edit = 1")
  /// Returns no bytes for a file with `Blob.Purpose.ephemeral`.
  fileprivate static let endBlob = Query(
    """
    UPDATE blobs SET expires = ?3 WHERE id = ?1 AND owner = ?2 AND state = 1 AND (expires IS NULL OR expires > ?3)
      AND NOT EXISTS (SELECT 1 FROM blob_references r WHERE r.blob = ?1)
    RETURNING iif(purpose = 2, 0, size)
    """)
}
