import Basics
import Crypto
import Logging
import Synchronization

/// Slots, uploads and reading, for both doors and the HTTP port.
public final class Blobs: Sendable {
  public let policy: BlobPolicy
  package let store: any BlobStore
  private let key: SymmetricKey
  private let uploadsMax: Int
  private let workers: ThreadPool
  private let inspectors: SharedThreads<UserID>
  /// The threads that move complete files into a remote store, which takes long: readers do not wait for it.
  private let finishers: ThreadPool
  private let busy = Mutex(Busy())
  private let logger: Logger
  private let pace = Mutex(
    LogPace(
      interval: Limits.refusalLogInterval, linesOfReasonMax: Limits.refusalLinesOfCodeMax,
      linesMax: Limits.refusalLinesMax))

  /// Blobs that are being written or removed: a second operation is refused, unless it takes over.
  private struct Busy {
    var uploads: [BlobID: BlobClaim] = [:]
    var removals: Set<BlobID> = []
  }

  init(
    policy: BlobPolicy, store: any BlobStore, secret: [UInt8], threads: Int, uploadsMax: Int = Limits.uploadsMax,
    logger: Logger
  ) {
    self.policy = policy
    self.uploadsMax = min(uploadsMax, Limits.uploadsMax)
    self.logger = logger
    self.store = store
    key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: secret), info: Array("parley upload".utf8), outputByteCount: 32)
    workers = ThreadPool(
      label: "parley.blobs", count: store.isRemote ? Limits.remoteBlobThreads : max(2, threads))
    inspectors = SharedThreads(
      label: "parley.inspection", count: policy.tools.inspectionsMax, perOwnerMax: Limits.inspectionsPerUserMax)
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
      guard busy.uploads.count < uploadsMax,
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
    do throws(BlobFailure) { return try await run({ workers.run($0) }, body) } catch { throw problem(error) }
  }

  func finish(_ writer: any BlobWriter, sha256: [UInt8]) async throws(Problem) {
    do throws(BlobFailure) {
      try await run({ finishers.run($0) }) { () throws(BlobFailure) in try writer.finish(sha256: sha256) }
    } catch { throw problem(error) }
  }

  /// Logs a failure, and returns its problem. The reason names folders, buckets and keys: it is for the operator, and the
  /// problem goes to users.
  private func problem(_ failure: BlobFailure) -> Problem {
    if let unlogged = pace.withLock({ $0.note(failure.isFull ? "full" : "failed", now: .now) }) {
      var metadata: Logger.Metadata = ["reason": "\(failure)"]
      if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
      logger.error("the store of files failed", metadata: metadata)
    }
    return failure.isFull ? .blobsFull : .blobFailed(failure.description)
  }

  /// Inspects a file of a user, which may take long. Users take turns, and have one inspection under way at a time.
  func inspect<Value: Sendable, Failure: Error>(
    for user: UserID, _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await run({ inspectors.run(for: user, $0) }, body)
  }

  /// Runs a function that may block, and returns its result.
  ///
  /// - Parameter start: begins a job on a thread that is for it.
  private func run<Value: Sendable, Failure: Error>(
    _ start: @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      start {
        do throws(Failure) { continuation.resume(returning: .success(try body())) } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}

extension Problem {
  fileprivate static func blobFailed(_ reason: String) -> Problem {
    Problem(.internal, "blob-failed", "The server cannot use its store of files at the moment.", reason: reason)
  }

  static let blobTaken = Problem(
    .conflict, "upload-taken", "This slot is being filled, or has been: each takes one upload.")
  static let blobRefused = Problem(
    .foreign, "file-refused", "This file is not taken: a scanner says that it is harmful.")
  static let uploadsOff = Problem(.unsupported, "uploads-off", "This server takes no files.")
  static let blobUnknown = Problem(.missing, "upload-unknown", "There is no such file, or no longer.")
  package static let blobsFull = Problem(
    .overloaded, "disk-full", "The server has no space left for this file.", retryAfter: 3_600)
}
