import Basics
import Crypto
package import Dialogs
import Glibc
package import Logging
import Synchronization
import WebClient

/// A blob store in a bucket of an S3-compatible service. It uses PutObject, GetObject with ranges, HeadObject,
/// DeleteObject and HeadBucket (API version 2006-03-01), signed with AWS Signature Version 4.
///
/// A file is first written to the local `Spool`, checked there, and then uploaded in one request, so that an object is
/// complete or absent. The row of its slot is older than the object, so that no object is without a row after a crash:
/// the sweeper removes by rows and never lists the bucket.
package final class BucketStore: BlobStore {
  private let options: BucketOptions
  private let spool: Spool
  private let client: WebClient
  private let logger: Logger
  package let isRemote = true

  package init(
    _ options: BucketOptions, spool path: String, authorities: String?, logger: Logger
  ) throws(BlobFailure) {
    self.options = options
    spool = try Spool(path)
    client = WebClient(.anywhere, authorities: authorities, logger: logger)
    self.logger = logger
  }

  deinit { client.stop() }

  /// Checks the access to the bucket, and throws errors that an operator has to fix. A service that does not answer may
  /// be back soon, so that this is only logged.
  package func check() throws(BlobFailure) {
    let reason: String
    do throws(BlobFailure) {
      let answer = try ask(.head, options.base, answerBytesMax: 0)
      if answer.isSuccess { return }
      switch answer.status {
      case 403: reason = "its key may not use it (403)"
      case 404: reason = "there is no such bucket (404)"
      default: reason = "it answers with \(answer.status)"
      }
    } catch {
      return logger.error("\(error)", metadata: ["bucket": "\(options.bucket)", "endpoint": "\(options.endpoint)"])
    }
    throw BlobFailure(
      isFull: false, "the bucket \(options.bucket) at \(options.endpoint) cannot be used: \(reason)")
  }

  package func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter {
    try spool.begin(name, size: size, finish: finish(name))
  }

  package func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter {
    try spool.resume(name, finish: finish(name))
  }

  private func finish(_ name: BlobName) -> Spool.Finish {
    { [self] written, sha256 throws(BlobFailure) in
      guard let size = Files.size(written.path) else { throw Spool.failure(ENOENT) }
      let answer = try ask(
        .put, url(name), body: .file(path: written.path, count: size), sha256: Hex.string(sha256),
        timeout: .seconds(30 + size / StorageLimits.bucketBytesPerSecond))
      guard answer.isSuccess else { throw Self.failure(answer) }
    }
  }

  package func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)? {
    let answer = try ask(.head, url(name), answerBytesMax: 0)
    if answer.status == 404 { return nil }
    guard answer.isSuccess, let size = answer.header("content-length").flatMap({ Int64($0) }) else {
      throw Self.failure(answer)
    }
    return Reading(store: self, url: url(name), size: size)
  }

  package func remove(_ name: BlobName) throws(BlobFailure) {
    spool.discard(name)
    let answer = try ask(.delete, url(name))
    guard answer.isSuccess || answer.status == 404 else { throw Self.failure(answer) }
  }

  package func settle(_ name: BlobName) { spool.discard(name) }
  package var unsettled: [BlobID] { spool.unsettled }
  /// The free space of the spool; the bucket is unbounded.
  package var room: Int64 { spool.room }

  // MARK: Requests

  private func url(_ name: BlobName) -> String { options.base + "/" + options.prefix + name.description }

  /// The hash of the empty body: S3 requires the body's hash in every request, even without one.
  private static let noBytes = Hex.string(SHA256.hash(data: [UInt8]()))

  /// Sends a request and repeats it after transient failures: no connection, overload or an internal error.
  private func ask(
    _ method: WebRequest.Method, _ url: String, headers: [(name: String, value: String)] = [],
    body: WebRequest.Body = .none, sha256: String = BucketStore.noBytes, timeout: Duration = WebLimits.timeout,
    answerBytesMax: Int = WebLimits.answerBytesMax
  ) throws(BlobFailure) -> WebAnswer {
    var last = "it does not answer"
    for attempt in 0..<StorageLimits.bucketAttempts {
      if attempt > 0 { usleep(StorageLimits.bucketPauseMicroseconds << UInt32(attempt - 1)) }
      do throws(WebFailure) {
        let answer = try client.wait(
          WebRequest(
            method, url, headers: headers + [(name: "x-amz-content-sha256", value: sha256)], body: body,
            timeout: timeout,
            answerBytesMax: answerBytesMax,
            signing: WebRequest.Signing(
              accessKey: options.key, secretKey: options.secret, region: options.region, service: "s3")))
        guard answer.status == 429 || answer.status >= 500 else { return answer }
        last = "it answers with \(answer.status)"
      } catch {
        last = error.description
        if error.kind == .cancelled { break }
      }
    }
    throw BlobFailure(isFull: false, "the bucket cannot be reached: \(last)")
  }

  private static func failure(_ answer: WebAnswer) -> BlobFailure {
    BlobFailure(isFull: answer.status == 507, "the bucket answers with \(answer.status)")
  }

  /// A reader with read-ahead: the first request fetches the requested range, later ones at least `bucketPieceBytes`,
  /// since a request costs more than bytes.
  private final class Reading: BlobReader {
    private let store: BucketStore
    private let url: String
    private let size: Int64
    private struct Held {
      var start: Int64 = 0
      var bytes: [UInt8] = []
    }
    private let held = Mutex(Held())

    init(store: BucketStore, url: String, size: Int64) {
      self.store = store
      self.url = url
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
      let last = min(size, offset + Int64(max(count, ahead))) - 1
      let answer = try store.ask(
        .get, url, headers: [("Range", "bytes=\(offset)-\(last)")], answerBytesMax: Int(last - offset) + 1)
      guard answer.status == 206 || answer.status == 200 && offset == 0,
        answer.body.count >= Int(end - offset)
      else { throw BucketStore.failure(answer) }
      held.withLock { $0 = Held(start: offset, bytes: answer.body) }
      return Array(answer.body.prefix(Int(end - offset)))
    }
  }
}
