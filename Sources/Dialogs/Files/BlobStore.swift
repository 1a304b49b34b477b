/// A store for the bytes of blobs. Every call may block; none is made on an event loop.
///
/// A blob is written once and never changes. It exists, complete and durable, or not at all. A common test suite checks
/// every store's behaviour.
public protocol BlobStore: Sendable {
  /// Creates a writer for a new blob. It reserves the space if the system can, and removes unfinished bytes of this
  /// name.
  func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter
  /// Creates a writer behind the bytes that a suspended writer, or one whose process ended, has left, if any. Finished
  /// but unsettled bytes are kept too.
  func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter
  /// Opens a blob for reading; `nil` if it does not exist.
  func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)?
  /// Removes a blob or its unfinished bytes; does nothing if there are none.
  func remove(_ name: BlobName) throws(BlobFailure)
  /// Forgets what resuming needs, as the blob is recorded as finished.
  func settle(_ name: BlobName)
  /// The blobs that can be resumed.
  var unsettled: [BlobID] { get }
  /// The bytes that may still be written without harm to other users of this disk; negative if too little is left.
  var room: Int64 { get }
  /// Whether the store is reached by network, so that more threads wait for it.
  var isRemote: Bool { get }
}

/// The name of bytes in a store.
public struct BlobName: Hashable, Sendable, CustomStringConvertible {
  public enum Part: String, Sendable, CaseIterable {
    case file
    /// The thumbnail, a JPEG.
    case thumbnail
  }
  public let id: BlobID
  public let part: Part

  public init(_ id: BlobID, _ part: Part = .file) {
    self.id = id
    self.part = part
  }

  /// 32 hex digits, and the part unless it is the file.
  public var description: String { part == .file ? id.description : "\(id)-\(part.rawValue)" }
}

/// A blob that is being written, by one thread at a time; written bytes can be read. One that is neither finished nor
/// suspended nor cancelled leaves bytes that the next start removes, or that can be resumed.
public protocol BlobWriter: BlobReader {
  /// The bytes that existed when the writer was opened.
  var start: Int64 { get }
  /// The path of a local file with the written bytes, for programs that inspect it.
  var path: String { get }
  func append(_ bytes: [UInt8]) throws(BlobFailure)
  /// Makes all bytes durable under their name, replacing earlier ones.
  /// - Parameter sha256: the hash of all bytes.
  func finish(sha256: [UInt8]) throws(BlobFailure)
  /// Makes the written bytes durable, so that they can be resumed.
  /// - Returns: their number.
  @discardableResult
  func suspend() throws(BlobFailure) -> Int64
  /// Removes a new blob; a resumed one is left as it is.
  func cancel()
}

/// A blob open for reading, which can be read to its end even if it is removed meanwhile.
public protocol BlobReader: Sendable {
  /// Returns bytes; fewer than `count` only at the end of the blob.
  func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8]
}

public struct BlobFailure: Error, Sendable, CustomStringConvertible {
  /// Whether there is no space left, for this user or for all.
  public let isFull: Bool
  public let description: String
  public init(isFull: Bool, _ description: String) {
    self.isFull = isFull
    self.description = description
  }
}
