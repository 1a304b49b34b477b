import Basics
import Crypto
package import Dialogs

/// An object of a bucket that is being written piece by piece. One that fits into a part is put in one request, a longer
/// one is a multipart upload; either is complete or absent. In memory is one part.
///
/// One that continues takes up an upload that was begun for the key: a part that the service has, by its size and the MD5
/// that its tag is, is not sent again. A service with other tags gets all parts again.
///
/// States: open; finished or aborted, after which nothing may be called. What is neither leaves parts, for one that
/// continues or for `Bucket.abortUploads`.
package final class ObjectWriter {
  private let bucket: Bucket
  private let key: String
  private let partBytes: Int
  private let continues: Bool
  private var buffer: [UInt8] = []
  private var upload: String?
  private var there: [Int: Bucket.Part] = [:]
  private var tags: [String] = []
  package private(set) var count: Int64 = 0

  /// - Parameters:
  ///   - bytesMax: The most bytes that are expected; more of them need larger parts.
  ///   - continues: Whether parts that are there are taken up, of the same number of bytes expected.
  /// - Throws: A `BlobFailure` if no object may be so long.
  package init(
    _ bucket: Bucket, _ key: String, bytesMax: Int64 = 0, continues: Bool = false
  ) throws(BlobFailure) {
    self.bucket = bucket
    self.key = key
    self.continues = continues
    let parts = Int64(StorageLimits.partsMax)
    partBytes = max(StorageLimits.partBytes, Int((bytesMax + parts - 1) / parts))
    guard partBytes <= StorageLimits.partBytesMax else {
      throw BlobFailure(
        isFull: false,
        "\(bucket.name(of: key)) would be longer than \(parts) parts of \(StorageLimits.partBytesMax) bytes")
    }
  }

  package func append(_ bytes: [UInt8]) throws(BlobFailure) {
    buffer += bytes
    count += Int64(bytes.count)
    while buffer.count > partBytes {
      let part = Array(buffer[..<partBytes])
      buffer.removeSubrange(..<partBytes)
      try put(part)
    }
  }

  package func finish() throws(BlobFailure) {
    guard upload != nil else { return try bucket.put(buffer, as: key) }
    if !buffer.isEmpty { try put(buffer) }
    if let upload { try bucket.complete(key, upload, tags: tags, size: count) }
  }

  /// Removes the parts. A failure leaves them to `Bucket.abortUploads`.
  package func abort() {
    if let upload { try? bucket.abort(key, upload) }
  }

  private func put(_ part: [UInt8]) throws(BlobFailure) {
    guard tags.count < StorageLimits.partsMax else {
      throw BlobFailure(isFull: false, "\(bucket.name(of: key)) has more than \(StorageLimits.partsMax) parts")
    }
    let number = tags.count + 1
    let begun: String
    if let upload { begun = upload } else { begun = try begin() }
    upload = begun
    if let known = there[number], known.size == Int64(part.count),
      known.tag.filter({ $0 != "\"" }) == Hex.string(Insecure.MD5.hash(data: part))
    {
      tags.append(known.tag)
    } else {
      tags.append(try bucket.put(part, part: number, of: key, begun))
    }
  }

  private func begin() throws(BlobFailure) -> String {
    if continues, let found = try bucket.unfinishedUpload(key) {
      there = found.parts
      return found.id
    }
    return try bucket.beginUpload(key)
  }
}
