import Basics
import Crypto
package import Dialogs
import Glibc
package import Logging
import WebClient
import XMLStream

/// A bucket of an S3-compatible service (API version 2006-03-01). Requests are signed with AWS Signature Version 4 and
/// repeated after transient failures. Every call may block. A key is what stands behind `BucketOptions.prefix`.
///
/// A failure names the request, the key, the bucket and the endpoint, and never the credentials.
package final class Bucket: Sendable {
  private let options: BucketOptions
  private let client: WebClient
  private let attempts: Int
  private let logger: Logger
  private let stopped = Cancellation()

  /// - Parameter attempts: How often a request is made before it counts as failed.
  package init(_ options: BucketOptions, attempts: Int, authorities: String?, logger: Logger) {
    self.options = options
    self.attempts = attempts
    client = WebClient(.anywhere, authorities: authorities, logger: logger)
    self.logger = logger
  }

  /// Creates a bucket for backups, which wait longer for a service that is away than users do.
  package convenience init(backups options: BucketOptions, authorities: String?, logger: Logger) {
    self.init(options, attempts: StorageLimits.backupAttempts, authorities: authorities, logger: logger)
  }

  deinit { client.stop() }

  /// Ends the request under way, which fails, and accepts no more.
  package func stop() {
    stopped.set()
    client.stop()
  }

  /// Checks the access to the bucket, and throws errors that an operator has to fix. A service that does not answer may
  /// be back soon, so that this is only logged.
  package func check() throws(BlobFailure) {
    let reason: String
    do throws(BlobFailure) {
      let answer = try request(.head, options.base, told: "the bucket", answerBytesMax: 0)
      if answer.isSuccess { return }
      switch answer.status {
      case 403: reason = "its key may not use it (403)"
      case 404: reason = "there is no such bucket (404)"
      default: reason = "it answers with \(answer.status)" + Self.redirection(answer)
      }
    } catch {
      return logger.error("\(error)", metadata: ["bucket": "\(options.bucket)", "endpoint": "\(options.endpoint)"])
    }
    throw BlobFailure(
      isFull: false, "the bucket \(options.bucket) at \(options.endpoint) cannot be used: \(reason)")
  }

  /// The URL of an object, for people.
  package func name(of key: String) -> String { "s3://\(options.bucket)/\(options.prefix)\(key)" }

  // MARK: Objects

  /// Returns the bytes of an object; nil if there is none.
  package func size(of key: String) throws(BlobFailure) -> Int64? {
    let answer = try ask(.head, key, answerBytesMax: 0)
    if answer.status == 404 { return nil }
    guard answer.isSuccess, let size = answer.header("content-length").flatMap({ Int64($0) }) else {
      throw failure(answer, .head, key)
    }
    return size
  }

  /// Returns a range of an object's bytes, fewer than `count` at its end.
  ///
  /// - Parameter size: The object's bytes; the range is within them.
  package func read(_ key: String, at offset: Int64, count: Int, of size: Int64) throws(BlobFailure) -> [UInt8] {
    let end = min(size, offset + Int64(count))
    guard offset < end else { return [] }
    let answer = try ask(
      .get, key, headers: [("Range", "bytes=\(offset)-\(end - 1)")], timeout: Self.time(for: end - offset),
      answerBytesMax: Int(end - offset))
    guard answer.status == 206 || answer.status == 200 && offset == 0, answer.body.count == Int(end - offset) else {
      throw failure(answer, .get, key)
    }
    return answer.body
  }

  /// Puts an object of a few bytes.
  package func put(_ bytes: [UInt8], as key: String) throws(BlobFailure) {
    let answer = try ask(
      .put, key, body: .bytes(bytes), sha256: Hex.string(SHA256.hash(data: bytes)),
      timeout: Self.time(for: Int64(bytes.count)))
    guard answer.isSuccess else { throw failure(answer, .put, key) }
  }

  /// Puts a file, whose hash is known.
  func put(file path: String, size: Int64, sha256: [UInt8], as key: String) throws(BlobFailure) {
    let answer = try ask(
      .put, key, body: .file(path: path, count: size), sha256: Hex.string(sha256), timeout: Self.time(for: size))
    guard answer.isSuccess else { throw failure(answer, .put, key) }
  }

  /// Removes an object; does nothing if there is none.
  package func remove(_ key: String) throws(BlobFailure) {
    let answer = try ask(.delete, key)
    guard answer.isSuccess || answer.status == 404 else { throw failure(answer, .delete, key) }
  }

  // MARK: Lists

  /// An object's name behind the prefix, and its bytes.
  package struct Object: Hashable, Sendable {
    package let key: String
    package let size: Int64
  }

  /// Returns objects in the order of their keys (ListObjectsV2), and whether there are more.
  ///
  /// - Parameter after: The key behind which the page begins.
  package func objects(_ prefix: String, after: String?) throws(BlobFailure) -> (page: [Object], isLast: Bool) {
    var query = "list-type=2&max-keys=\(StorageLimits.listedKeys)&prefix=" + encode(prefix)
    // The names of a signed query are in alphabetical order.
    if let after { query += "&start-after=" + encode(after) }
    let list = try list(query, "ListBucketResult")
    let page = list.children.filter { $0.local == "Contents" }.compactMap { entry -> Object? in
      guard let key = own(Self.text("Key", of: entry)), let size = Int64(Self.text("Size", of: entry)) else {
        return nil
      }
      return Object(key: key, size: size)
    }
    return (page, Self.text("IsTruncated", of: list) != "true")
  }

  /// Removes the parts of multipart uploads that were begun and neither completed nor aborted.
  ///
  /// - Parameter kept: A key whose uploads stay.
  package func abortUploads(_ prefix: String, but kept: String? = nil) throws(BlobFailure) {
    while true {
      let (uploads, isLast) = try uploads(prefix)
      for (key, id) in uploads where key != kept { try abort(key, id) }
      if isLast || uploads.allSatisfy({ $0.key == kept }) { return }
    }
  }

  /// Returns multipart uploads in the order of their keys (ListMultipartUploads), and whether these are all.
  private func uploads(_ prefix: String) throws(BlobFailure) -> (page: [(key: String, id: String)], isLast: Bool) {
    let list = try list(
      "max-uploads=\(StorageLimits.listedKeys)&prefix=\(encode(prefix))&uploads=", "ListMultipartUploadsResult")
    let page = list.children.filter { $0.local == "Upload" }.compactMap { entry in
      own(Self.text("Key", of: entry)).map { (key: $0, id: Self.text("UploadId", of: entry)) }
    }
    return (page, Self.text("IsTruncated", of: list) != "true")
  }

  /// - Parameter key: The key of the object that the list is about; nil for one of the bucket.
  private func list(_ query: String, of key: String? = nil, _ roots: String...) throws(BlobFailure) -> Element {
    let answer = try request(
      .get, options.base + "/" + (key.map { options.prefix + $0 } ?? "") + "?" + query,
      told: key ?? "the list of the bucket", answerBytesMax: StorageLimits.listBytesMax)
    guard answer.isSuccess, let list = Self.document(answer), roots.contains(list.local) else {
      throw failure(answer, .get, key ?? "")
    }
    return list
  }

  /// Returns the part of a key behind the prefix; nil for another key.
  private func own(_ key: String) -> String? {
    key.hasPrefix(options.prefix) && !key.isEmpty ? String(key.dropFirst(options.prefix.count)) : nil
  }

  private func encode(_ key: String) -> String { PercentEncoding.encode(options.prefix + key) }

  // MARK: Multipart uploads

  /// A part of an upload that the service has, with its tag.
  struct Part: Hashable, Sendable {
    let tag: String
    let size: Int64
  }

  /// Returns an upload of a key that was begun and not completed, with its parts by number (ListParts, whose root has
  /// another name in some services); nil if there is none, or none whose parts may be listed: what there was is aborted
  /// then.
  func unfinishedUpload(_ key: String) throws(BlobFailure) -> (id: String, parts: [Int: Part])? {
    var found: (id: String, parts: [Int: Part])?
    for (known, id) in try uploads(key).page where known == key {
      if found == nil, let parts = try? parts(of: key, id) { found = (id, parts) } else { try abort(key, id) }
    }
    return found
  }

  private func parts(of key: String, _ upload: String) throws(BlobFailure) -> [Int: Part] {
    var parts: [Int: Part] = [:]
    var after = 0
    while true {
      let list = try list(
        "max-parts=\(StorageLimits.listedKeys)&part-number-marker=\(after)&uploadId=\(PercentEncoding.encode(upload))",
        of: key, "ListPartsResult", "ListPartsResponse")
      for entry in list.children where entry.local == "Part" {
        guard let number = Int(Self.text("PartNumber", of: entry)), let size = Int64(Self.text("Size", of: entry))
        else { continue }
        parts[number] = Part(tag: Self.text("ETag", of: entry), size: size)
      }
      let last = parts.keys.max() ?? 0
      if Self.text("IsTruncated", of: list) != "true" || last <= after { return parts }
      after = last
    }
  }

  func beginUpload(_ key: String) throws(BlobFailure) -> String {
    let answer = try ask(.post, key, query: "uploads=")
    guard answer.isSuccess, let id = Self.document(answer).map({ Self.text("UploadId", of: $0) }), !id.isEmpty else {
      throw failure(answer, .post, key)
    }
    return id
  }

  /// Returns the part's tag, which completes the upload.
  func put(_ bytes: [UInt8], part: Int, of key: String, _ upload: String) throws(BlobFailure) -> String {
    let answer = try ask(
      .put, key, query: "partNumber=\(part)&uploadId=\(PercentEncoding.encode(upload))", body: .bytes(bytes),
      sha256: Hex.string(SHA256.hash(data: bytes)), timeout: Self.time(for: Int64(bytes.count)))
    guard answer.isSuccess, let tag = answer.header("etag") else { throw failure(answer, .put, key) }
    return tag
  }

  /// Makes an object of the parts. The service may answer with 200 before it has decided, so that the body says whether
  /// it succeeded; and what succeeded without an answer is no upload any more when it is repeated.
  func complete(_ key: String, _ upload: String, tags: [String], size: Int64) throws(BlobFailure) {
    let parts = tags.enumerated().map { index, tag in
      "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag.filter { $0 != "<" && $0 != "&" })</ETag></Part>"
    }
    let body = Array("<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>".utf8)
    let answer = try ask(
      .post, key, query: "uploadId=" + PercentEncoding.encode(upload), body: .bytes(body),
      sha256: Hex.string(SHA256.hash(data: body)), timeout: StorageLimits.completionTime)
    if answer.isSuccess, Self.document(answer)?.local == "CompleteMultipartUploadResult" { return }
    if answer.status == 404, try self.size(of: key) == size { return }
    throw failure(answer, .post, key)
  }

  func abort(_ key: String, _ upload: String) throws(BlobFailure) {
    let answer = try ask(.delete, key, query: "uploadId=" + PercentEncoding.encode(upload))
    guard answer.isSuccess || answer.status == 404 else { throw failure(answer, .delete, key) }
  }

  // MARK: Requests

  /// The hash of the empty body: S3 requires the body's hash in every request, even without one.
  private static let noBytes = Hex.string(SHA256.hash(data: [UInt8]()))

  private static func time(for bytes: Int64) -> Duration { .seconds(30 + bytes / StorageLimits.bucketBytesPerSecond) }

  private func ask(
    _ method: WebRequest.Method, _ key: String, query: String = "", headers: [(name: String, value: String)] = [],
    body: WebRequest.Body = .none, sha256: String = Bucket.noBytes, timeout: Duration = WebLimits.timeout,
    answerBytesMax: Int = WebLimits.answerBytesMax
  ) throws(BlobFailure) -> WebAnswer {
    let url = "\(options.base)/\(options.prefix)\(key)" + (query.isEmpty ? "" : "?" + query)
    return try request(
      method, url, told: key, headers: headers, body: body, sha256: sha256, timeout: timeout,
      answerBytesMax: answerBytesMax)
  }

  /// Sends a request and repeats it after transient failures: no connection, overload or an internal error.
  private func request(
    _ method: WebRequest.Method, _ url: String, told: String, headers: [(name: String, value: String)] = [],
    body: WebRequest.Body = .none, sha256: String = Bucket.noBytes, timeout: Duration = WebLimits.timeout,
    answerBytesMax: Int
  ) throws(BlobFailure) -> WebAnswer {
    var last = "it does not answer"
    for attempt in 0..<attempts {
      // The pause ends early if the bucket is stopped: the request then fails at once.
      for _ in 0..<(attempt > 0 ? 1 << (attempt - 1) : 0) where !stopped.isSet {
        usleep(StorageLimits.bucketPauseMicroseconds)
      }
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
    throw BlobFailure(
      isFull: false,
      "the bucket \(options.bucket) at \(options.endpoint) cannot be reached for \(method.rawValue) \(told): \(last)")
  }

  private func failure(_ answer: WebAnswer, _ method: WebRequest.Method, _ key: String) -> BlobFailure {
    // The service's code says more than the status: AccessDenied, NoSuchUpload, SlowDown.
    let code = Self.document(answer).map { Self.text("Code", of: $0) } ?? ""
    return BlobFailure(
      isFull: answer.status == 507,
      "the bucket \(options.bucket) at \(options.endpoint) answers with \(answer.status)"
        + (code.isEmpty ? "" : " \(Line.safe(Line.beginning(of: code)))")
        + " to \(method.rawValue) \(options.prefix)\(key)" + Self.redirection(answer))
  }

  /// Where a service that redirects has the bucket: AWS does so for a bucket of another region, and for a new one until
  /// its name is known everywhere. A signed request holds for one host, and the operator has named the one to be trusted.
  private static func redirection(_ answer: WebAnswer) -> String {
    guard (300..<400).contains(answer.status) else { return "" }
    let place = answer.header("location") ?? document(answer).map { text("Endpoint", of: $0) } ?? ""
    if place.isEmpty { return "" }
    return ", and redirects to \(Line.safe(Line.beginning(of: place))): set the endpoint and the region of the bucket"
  }

  private static func document(_ answer: WebAnswer) -> Element? {
    try? Element(parsing: answer.body, defaultNamespace: "", limits: StorageLimits.listing)
  }

  /// Returns the text of a child; empty if there is none.
  private static func text(_ name: String, of element: Element) -> String {
    element.children.first { $0.local == name }?.text ?? ""
  }
}
