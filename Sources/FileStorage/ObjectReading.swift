package import Dialogs

/// The objects of a bucket whose keys have a prefix, in the order of their keys, a page in memory at a time.
package struct ObjectList {
  private let bucket: Bucket
  private let prefix: String
  private var page: ArraySlice<Bucket.Object> = []
  private var last: String?
  private var isDone = false

  package init(_ bucket: Bucket, _ prefix: String) { (self.bucket, self.prefix) = (bucket, prefix) }

  /// Returns the next object; nil at the end.
  package mutating func next() throws(BlobFailure) -> Bucket.Object? {
    if page.isEmpty, !isDone {
      let (objects, isLast) = try bucket.objects(prefix, after: last)
      page = objects[...]
      last = objects.last?.key
      isDone = isLast || objects.isEmpty
    }
    return page.popFirst()
  }
}

/// The bytes of an object from its beginning to its end, `pieceBytes` in memory at a time.
package struct ObjectReader {
  private let bucket: Bucket
  private let key: String
  private let size: Int64
  private let pieceBytes: Int
  private var offset: Int64 = 0

  /// Opens an object; nil if there is none.
  package init?(_ bucket: Bucket, _ key: String, pieceBytes: Int = StorageLimits.readBytes) throws(BlobFailure) {
    guard let size = try bucket.size(of: key) else { return nil }
    self.bucket = bucket
    self.key = key
    self.size = size
    self.pieceBytes = pieceBytes
  }

  /// Returns the next bytes; none at the end.
  package mutating func next() throws(BlobFailure) -> [UInt8] {
    let bytes = try bucket.read(key, at: offset, count: pieceBytes, of: size)
    offset += Int64(bytes.count)
    return bytes
  }
}
