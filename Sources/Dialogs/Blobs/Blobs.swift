import Crypto
import Logging
import Synchronization

/// Slots, uploads and reading: what both doors and the HTTP port ask of the blobs.
public final class Blobs: Sendable {
  public let policy: BlobPolicy
  let store: any BlobStore
  private let key: SymmetricKey
  let workers: Workers
  private let busy = Mutex(Busy())

  /// Blobs that are being written or removed: whoever comes second is refused.
  private struct Busy {
    var uploads: [BlobID: UserID] = [:]
    var removals: Set<BlobID> = []
  }

  init(policy: BlobPolicy, store: any BlobStore, secret: [UInt8], threads: Int) {
    self.policy = policy
    self.store = store
    key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: secret), info: Array("parley upload".utf8), outputByteCount: 32)
    workers = Workers(label: "parley.blobs", count: max(2, threads))
  }

  // MARK: Slots

  /// Where the slot is filled. The key says that the slot is ours before the store is asked, and that whoever only
  /// knows where it is read cannot fill it.
  public func uploadURL(of blob: Blob) -> String { policy.links.url(of: blob) + "?key=" + uploadKey(of: blob.id) }

  private func uploadKey(of id: BlobID) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Array(id.description.utf8), using: key)
    return PublicID(bytes: Array(code)).description
  }

  /// In a time that tells nothing of how much of it is right.
  func isKey(_ text: String, of id: BlobID) -> Bool {
    let right = Array(uploadKey(of: id).utf8)
    let given = Array(text.utf8)
    guard given.count == right.count else { return false }
    return zip(given, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  // MARK: One at a time

  func claim(_ id: BlobID, for user: UserID) throws(Problem) {
    let problem: Problem? = busy.withLock { busy in
      if busy.uploads[id] != nil || busy.removals.contains(id) { return .blobTaken }
      guard busy.uploads.count < Limits.uploadsMax,
        busy.uploads.values.lazy.filter({ $0 == user }).count < Limits.uploadsPerUserMax
      else {
        return Problem(.overloaded, "uploads-too-many", "Too many files are being uploaded.", retryAfter: 10)
      }
      busy.uploads[id] = user
      return nil
    }
    if let problem { throw problem }
  }

  func release(_ id: BlobID) { busy.withLock { $0.uploads[id] = nil } }

  /// False: it is being written.
  func claimRemoval(_ id: BlobID) -> Bool {
    busy.withLock { $0.uploads[id] == nil && $0.removals.insert(id).inserted }
  }

  func releaseRemoval(_ id: BlobID) { busy.withLock { _ = $0.removals.remove(id) } }

  /// On a thread that may block.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(BlobFailure) -> Value
  ) async throws(Problem) -> Value {
    let result: Result<Value, BlobFailure> = await withCheckedContinuation { continuation in
      workers.run {
        do throws(BlobFailure) { continuation.resume(returning: .success(try body())) } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let failure): throw failure.isFull ? .blobsFull : Problem(.internal, "blob-failed", "\(failure)")
    }
  }
}

extension Problem {
  static let blobTaken = Problem(
    .conflict, "upload-taken", "This slot is being filled, or has been: each takes one upload.")
  static let blobUnknown = Problem(.missing, "upload-unknown", "There is no such file, or no longer.")
  static let blobsFull = Problem(
    .overloaded, "disk-full", "The server has no space left for this file.", retryAfter: 3_600)
}

/// One upload, from one task.
public final class BlobUpload: Sendable {
  public let blob: Blob
  private let parley: Parley
  private let blobs: Blobs
  private let owner: Party
  private let writer: any BlobWriter
  private let mediaType: String
  private struct Progress {
    var hash = SHA256()
    var count: Int64 = 0
  }
  private let progress = Mutex(Progress())

  init(
    _ blob: Blob, of owner: Party, as mediaType: String, _ writer: any BlobWriter, _ blobs: Blobs, _ parley: Parley
  ) {
    self.blob = blob
    self.owner = owner
    self.mediaType = mediaType
    self.writer = writer
    self.blobs = blobs
    self.parley = parley
  }

  /// Returns when the bytes are handed to the system: whoever waits for that holds only these.
  public func append(_ bytes: [UInt8]) async throws(Problem) {
    try await blobs.run { [self] () throws(BlobFailure) in
      let count = progress.withLock { progress in
        progress.count += Int64(bytes.count)
        bytes.withUnsafeBytes { progress.hash.update(bufferPointer: $0) }
        return progress.count
      }
      guard count <= blob.size else { return }
      try writer.append(bytes)
    }
    if progress.withLock({ $0.count }) > blob.size { throw Self.wrongLength }
  }

  /// Returns when bytes and slot are durable: now it may be told.
  public func finish() async throws(Problem) -> Blob {
    let (count, hash) = progress.withLock { ($0.count, Array($0.hash.finalize())) }
    guard count == blob.size else { throw Self.wrongLength }
    let writer = writer
    try await blobs.run { () throws(BlobFailure) in try writer.finish() }
    let receipt = try await parley.post(.blob(.stored(blob.id, sha256: hash, mediaType: mediaType)), by: owner)
    guard let stored = receipt.value as? Blob else { throw Problem.storage }
    blobs.release(blob.id)
    return stored
  }

  /// Nothing is left; the slot can be tried again until its time is over.
  public func cancel() async {
    let writer = writer
    try? await blobs.run { writer.cancel() }
    blobs.release(blob.id)
  }

  static let wrongLength = Problem(
    .malformed, "length-mismatch", "The file has not as many bytes as the slot was asked for.")
}

/// A blob that is being given out.
public struct OpenBlob: Sendable {
  public let blob: Blob
  let reader: any BlobReader
  let blobs: Blobs

  /// Fewer bytes only where the blob ends.
  public func read(at offset: Int64, count: Int) async throws(Problem) -> [UInt8] {
    let reader = reader
    return try await blobs.run { () throws(BlobFailure) in try reader.read(at: offset, count: count) }
  }
}

extension Parley {
  private func needBlobs() throws(Problem) -> Blobs {
    guard let blobs else { throw Problem(.unsupported, "uploads-off", "This server takes no files.") }
    return blobs
  }

  /// Begins the one upload of a slot. Whoever gets it finishes or cancels it.
  ///
  /// - Parameters:
  ///   - key: as in `Blobs.uploadURL`.
  ///   - name: as in the URL.
  ///   - length: bytes that are announced; nil: none were, and the slot is refused (`length-required`).
  ///   - mediaType: as announced.
  public func upload(
    _ id: BlobID, key: String, name: String, length: Int64?, mediaType: String?
  ) async throws(Problem) -> BlobUpload {
    let blobs = try needBlobs()
    guard blobs.isKey(key, of: id) else {
      throw Problem(.forbidden, "upload-key-wrong", "This is not where a slot of this server is filled.")
    }
    let (found, owner) = try await read { reader -> (Blob?, User?) in
      guard let blob = try reader.blob(id) else { return (nil, nil) }
      return (blob, try reader.user(blob.owner))
    }
    guard let blob = found, blob.name == name, let owner, owner.state == .active else { throw .blobUnknown }
    guard blob.state == .awaited else { throw .blobTaken }
    guard clock.now < blob.createdAt + Limits.slotTime else {
      throw Problem(.missing, "upload-late", "The time of this slot is over. Ask for another.")
    }
    guard let length else {
      throw Problem(.malformed, "length-required", "Say with Content-Length how many bytes come.")
    }
    guard length == blob.size else { throw BlobUpload.wrongLength }
    let announced = mediaType.flatMap { MediaType.essence($0) }
    if let expected = blob.mediaType, let announced, expected != announced {
      throw Problem(
        .malformed, "media-type-mismatch", "The slot was asked for a file of type \(expected).", field: "mediaType")
    }
    try blobs.claim(id, for: blob.owner)
    do throws(Problem) {
      // Looked at again behind the claim: another upload may just have been finished.
      guard try await read({ try $0.blob(id) })?.state == .awaited else { throw .blobTaken }
      guard blobs.store.room >= length else { throw .blobsFull }
      let writer = try await blobs.run { () throws(BlobFailure) in try blobs.store.begin(id, size: length) }
      return BlobUpload(
        blob, of: Party(id: owner.id, realm: owner.realm, address: owner.address),
        as: blob.mediaType ?? announced ?? MediaType.of(name: blob.name) ?? MediaType.unknown, writer, blobs, self)
    } catch {
      blobs.release(id)
      throw error
    }
  }

  /// What may be read of whoever knows the id; nil: nothing.
  public func blob(_ id: BlobID) async throws(Problem) -> Blob? {
    guard blobs != nil, let blob = try await read({ try $0.blob(id) }), blob.isReadable(at: clock.now) else {
      return nil
    }
    return blob
  }

  /// nil: there is nothing, or no longer.
  public func openBlob(_ id: BlobID, name: String) async throws(Problem) -> OpenBlob? {
    guard let blobs, let blob = try await blob(id), blob.name == name else { return nil }
    let reader = try await blobs.run { () throws(BlobFailure) in try blobs.store.open(id) }
    return reader.map { OpenBlob(blob: blob, reader: $0, blobs: blobs) }
  }

  /// Removes what is over, a page at a time. The bytes go before the row: after a crash the row is still there to say
  /// that they have to.
  ///
  /// - Returns: how many went.
  @discardableResult
  public func sweepBlobs() async throws(Problem) -> Int {
    guard let blobs else { return 0 }
    var count = 0
    while true {
      let now = clock.now
      let due = try await read { try $0.dueBlobs(at: now, limit: Limits.sweptBlobsMax) }
      var claimed = due.filter { blobs.claimRemoval($0) }
      defer { for id in claimed { blobs.releaseRemoval(id) } }
      // Looked at again behind the claim: an upload may have been finished between.
      let (looked, isNow) = (claimed, now)
      let spared = try await read { reader in try looked.filter { try reader.blob($0)?.isReadable(at: isNow) == true } }
      for id in spared { blobs.releaseRemoval(id) }
      claimed.removeAll { spared.contains($0) }
      var removed: [BlobID] = []
      for id in claimed {
        do throws(Problem) {
          try await blobs.run { () throws(BlobFailure) in try blobs.store.remove(id) }
          removed.append(id)
        } catch {
          logger.error("a file could not be removed", metadata: ["reason": "\(error.text)"])
        }
      }
      if removed.isEmpty { return count }
      try await post(.blob(.swept(removed)), by: Self.nobody)
      count += removed.count
      if due.count < Limits.sweptBlobsMax { return count }
    }
  }
}
