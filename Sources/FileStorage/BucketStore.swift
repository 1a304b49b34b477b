import Basics
package import Dialogs
import Glibc
package import Logging
import Synchronization

/// A blob store in a bucket of an S3-compatible service. It uses PutObject, GetObject with ranges, HeadObject,
/// DeleteObject and HeadBucket.
///
/// A file is first written to the local `Spool`, checked there, and then uploaded in one request, so that an object is
/// complete or absent. The row of its slot is older than the object, so that no object is without a row after a crash:
/// the sweeper removes by rows and never lists the bucket.
package final class BucketStore: BlobStore {
  private let bucket: Bucket
  private let spool: Spool
  package let isRemote = true

  package init(
    _ options: BucketOptions, spool path: String, authorities: String?, logger: Logger
  ) throws(BlobFailure) {
    spool = try Spool(path)
    bucket = Bucket(options, attempts: StorageLimits.bucketAttempts, authorities: authorities, logger: logger)
  }

  /// Checks the access to the bucket (`Bucket.check`).
  package func check() throws(BlobFailure) { try bucket.check() }

  package func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter {
    try spool.begin(name, size: size, finish: finish(name))
  }

  package func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter {
    try spool.resume(name, finish: finish(name))
  }

  private func finish(_ name: BlobName) -> Spool.Finish {
    { [self] written, sha256 throws(BlobFailure) in
      guard let size = Files.size(written.path) else { throw Spool.failure(ENOENT) }
      try bucket.put(file: written.path, size: size, sha256: sha256, as: name.description)
    }
  }

  package func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)? {
    try bucket.size(of: name.description).map { Reading(bucket: bucket, key: name.description, size: $0) }
  }

  package func remove(_ name: BlobName) throws(BlobFailure) {
    spool.discard(name)
    try bucket.remove(name.description)
  }

  package func settle(_ name: BlobName) { spool.discard(name) }
  package var unsettled: [BlobID] { spool.unsettled }
  /// The free space of the spool; the bucket is unbounded.
  package var room: Int64 { spool.room }

  /// A reader with read-ahead: the first request fetches the requested range, later ones at least `bucketPieceBytes`,
  /// since a request costs more than bytes.
  private final class Reading: BlobReader {
    private let bucket: Bucket
    private let key: String
    private let size: Int64
    private struct Held {
      var start: Int64 = 0
      var bytes: [UInt8] = []
    }
    private let held = Mutex(Held())

    init(bucket: Bucket, key: String, size: Int64) {
      self.bucket = bucket
      self.key = key
      self.size = size
    }

    func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8] {
      let end = min(size, offset + Int64(count))
      guard offset < end else { return [] }
      let known = held.withLock { $0 }
      if known.start <= offset, end <= known.start + Int64(known.bytes.count) {
        return Array(known.bytes[Int(offset - known.start)..<Int(end - known.start)])
      }
      let ahead = known.bytes.isEmpty ? count : StorageLimits.bucketPieceBytes
      let bytes = try bucket.read(key, at: offset, count: max(count, ahead), of: size)
      held.withLock { $0 = Held(start: offset, bytes: bytes) }
      return Array(bytes.prefix(Int(end - offset)))
    }
  }
}
