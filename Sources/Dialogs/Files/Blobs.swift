import Basics
import Crypto
import Logging
import Synchronization

/// Slots, uploads and reading, for both doors and the HTTP port.
public final class Blobs: Sendable {
  public let policy: BlobPolicy
  package let store: any BlobStore
  private let key: SymmetricKey
  private let workers: ThreadPool
  private let inspectors: ThreadPool
  /// The threads that move complete files into a remote store, which takes long: readers do not wait for it.
  private let finishers: ThreadPool
  private let busy = Mutex(Busy())

  /// Blobs that are being written or removed: a second operation is refused, unless it takes over.
  private struct Busy {
    var uploads: [BlobID: BlobClaim] = [:]
    var removals: Set<BlobID> = []
  }

  init(policy: BlobPolicy, store: any BlobStore, secret: [UInt8], threads: Int) {
    self.policy = policy
    self.store = store
    key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: secret), info: Array("parley upload".utf8), outputByteCount: 32)
    workers = ThreadPool(
      label: "parley.blobs", count: store.isRemote ? Limits.remoteBlobThreads : max(2, threads))
    inspectors = ThreadPool(label: "parley.inspection", count: Limits.inspectionsMax)
    finishers = store.isRemote ? ThreadPool(label: "parley.finishing", count: Limits.remoteBlobThreads) : workers
  }

  // MARK: Slots

  /// Returns the URL for filling a slot. The key proves that the slot is this server's before the store is read, and
  /// that its sender does not only know the URL for reading.
  public func uploadURL(of blob: Blob) -> String { policy.links.url(of: blob) + "?key=" + uploadKey(of: blob.id) }

  private func uploadKey(of id: BlobID) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Array(id.description.utf8), using: key)
    return PublicID(bytes: Array(code)).description
  }

  /// Compares keys in constant time.
  func isKey(_ text: String, of id: BlobID) -> Bool {
    Array(uploadKey(of: id).utf8).isEqualInConstantTime(to: Array(text.utf8))
  }

  // MARK: Exclusive access

  func claim(_ id: BlobID, for user: UserID) throws(Problem) -> BlobClaim {
    let result: Result<BlobClaim, Problem> = busy.withLock { busy in
      if busy.uploads[id] != nil || busy.removals.contains(id) { return .failure(.blobTaken) }
      guard busy.uploads.count < Limits.uploadsMax,
        busy.uploads.values.lazy.filter({ $0.user == user }).count < Limits.uploadsPerUserMax
      else {
        return .failure(
          Problem(.overloaded, "uploads-too-many", "Too many files are being uploaded.", retryAfter: 10))
      }
      let claim = BlobClaim(user)
      busy.uploads[id] = claim
      return .success(claim)
    }
    return try result.get()
  }

  /// Claims a slot; an upload in progress ends.
  func takeOver(_ id: BlobID, for user: UserID) async throws(Problem) -> BlobClaim {
    if let earlier = busy.withLock({ $0.uploads[id] }) {
      // Waits for the current write.
      guard try await run({ () throws(BlobFailure) in earlier.end() }) else { throw .blobTaken }
      release(id, earlier)
    }
    return try claim(id, for: user)
  }

  /// Releases a claim; does nothing if it was taken over.
  func release(_ id: BlobID, _ claim: BlobClaim) {
    busy.withLock { busy in if busy.uploads[id] === claim { busy.uploads[id] = nil } }
  }

  /// Claims a blob for removal. Returns `false` if it is being written.
  func claimRemoval(_ id: BlobID) -> Bool {
    busy.withLock { $0.uploads[id] == nil && $0.removals.insert(id).inserted }
  }

  func releaseRemoval(_ id: BlobID) { busy.withLock { _ = $0.removals.remove(id) } }

  /// Runs a function on a thread that may block.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(BlobFailure) -> Value
  ) async throws(Problem) -> Value {
    do throws(BlobFailure) { return try await run(on: workers, body) } catch { throw Problem(error) }
  }

  func finish(_ writer: any BlobWriter, sha256: [UInt8]) async throws(Problem) {
    do throws(BlobFailure) {
      try await run(on: finishers) { () throws(BlobFailure) in try writer.finish(sha256: sha256) }
    } catch { throw Problem(error) }
  }

  /// Runs a function that may take long.
  func inspect<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await run(on: inspectors, body)
  }

  private func run<Value: Sendable, Failure: Error>(
    on threads: ThreadPool, _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      threads.run {
        do throws(Failure) { continuation.resume(returning: .success(try body())) } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}

extension Problem {
  fileprivate init(_ failure: BlobFailure) {
    self = failure.isFull ? .blobsFull : Problem(.internal, "blob-failed", "\(failure)")
  }

  static let blobTaken = Problem(
    .conflict, "upload-taken", "This slot is being filled, or has been: each takes one upload.")
  static let blobRefused = Problem(
    .foreign, "file-refused", "This file is not taken: a scanner says that it is harmful.")
  static let blobUnknown = Problem(.missing, "upload-unknown", "There is no such file, or no longer.")
  package static let blobsFull = Problem(
    .overloaded, "disk-full", "The server has no space left for this file.", retryAfter: 3_600)
}

/// A blob open for reading.
public struct OpenBlob: Sendable {
  public let blob: Blob
  let reader: any BlobReader
  let blobs: Blobs

  /// Returns bytes; fewer than `count` only at the end of the blob.
  public func read(at offset: Int64, count: Int) async throws(Problem) -> [UInt8] {
    let reader = reader
    return try await blobs.run { () throws(BlobFailure) in try reader.read(at: offset, count: count) }
  }
}

extension Parley {
  /// Returns the blob if it may be read; otherwise `nil`.
  public func blob(_ id: BlobID, for viewer: Party? = nil) async throws(Problem) -> Blob? {
    guard blobs != nil, let blob = try await read({ try $0.blob(id, .holder(viewer)) }), blob.isReadable(at: clock.now)
    else {
      return nil
    }
    return blob
  }

  /// Opens a blob; `nil` if it may not be read.
  public func openBlob(_ id: BlobID, name: String) async throws(Problem) -> OpenBlob? {
    try await open(id, .file, name: name)
  }

  /// Opens a blob's thumbnail; `nil` if there is none, or it may not be read.
  public func openThumbnail(_ id: BlobID, name: String) async throws(Problem) -> OpenBlob? {
    try await open(id, .thumbnail, name: name)
  }

  private func open(_ id: BlobID, _ part: BlobName.Part, name: String) async throws(Problem) -> OpenBlob? {
    guard let blobs, let blob = try await blob(id), blob.name == name, part == .file || blob.thumbnail != nil else {
      return nil
    }
    let reader = try await blobs.run { () throws(BlobFailure) in try blobs.store.open(BlobName(id, part)) }
    return reader.map { OpenBlob(blob: blob, reader: $0, blobs: blobs) }
  }

  /// Settles the uploads of the previous process. Called once, before the first upload.
  public func settleBlobs() async throws(Problem) {
    guard let blobs else { return }
    for id in blobs.store.unsettled {
      let state = try await read { try $0.blob(id, .server(.rules))?.state }
      switch state {
      case .awaited: break
      case .stored: blobs.store.settle(BlobName(id))
      case .gone, .refused, nil:
        do throws(Problem) {
          try await blobs.run { () throws(BlobFailure) in try blobs.store.remove(BlobName(id)) }
        } catch {
          // The next start tries again.
          logger.error("a file could not be removed", metadata: ["reason": "\(error.text)"])
        }
      }
    }
  }

  /// Returns the user's use of storage; `nil` if uploads are off.
  public func blobUse(of user: UserID) async throws(Problem) -> (use: BlobUse, policy: BlobPolicy)? {
    guard let blobs else { return nil }
    let now = clock.now
    return (try await read { try $0.blobUse(of: user, at: now) }, blobs.policy)
  }

  /// Returns an avatar made from an image that may be larger; `nil` if this fails.
  ///
  /// It is a PNG, which every client can show (XEP-0084 4.2.1), unless that has too many bytes.
  public func avatar(of bytes: [UInt8]) async -> [UInt8]? {
    guard let blobs, let pictures = blobs.policy.tools.pictures else { return nil }
    return await blobs.inspect { () throws(Never) -> [UInt8]? in
      for form in [PictureForm.png, .jpeg] {
        if let small = pictures.shrunk(.bytes(bytes), side: Limits.avatarSide, as: form),
          small.count <= Limits.avatarBytesMax
        {
          return small
        }
      }
      return nil
    }
  }

  /// Removes expired blobs, a page at a time. The bytes are removed before the row: after a crash the row still tells
  /// that they have to be.
  ///
  /// - Returns: the number of removed blobs.
  @discardableResult
  public func sweepBlobs() async throws(Problem) -> Int {
    guard let blobs else { return 0 }
    var count = 0
    while true {
      let now = clock.now
      let due = try await read { try $0.dueBlobs(at: now, limit: Limits.sweptBlobsMax) }
      var claimed = due.filter { blobs.claimRemoval($0) }
      defer { for id in claimed { blobs.releaseRemoval(id) } }
      // Checked again after claiming: an upload may have been finished in between.
      let (looked, isNow) = (claimed, now)
      let spared = try await read { reader in
        try looked.filter { try reader.blob($0, .server(.rules))?.isReadable(at: isNow) == true }
      }
      for id in spared { blobs.releaseRemoval(id) }
      claimed.removeAll { spared.contains($0) }
      var removed: [BlobID] = []
      for id in claimed {
        do throws(Problem) {
          try await blobs.run { () throws(BlobFailure) in
            for part in BlobName.Part.allCases { try blobs.store.remove(BlobName(id, part)) }
          }
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
