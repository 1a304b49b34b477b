/// Where the bytes of blobs are. Every call may block; none is made on an event loop.
///
/// A blob is written once and never changes. It is there, whole and durable, or it is not.
public protocol BlobStore: Sendable {
  /// A place for bytes that are nothing yet. Space for all of them is claimed where the system can.
  func begin(_ id: BlobID, size: Int64) throws(BlobFailure) -> any BlobWriter
  /// nil: there are none.
  func open(_ id: BlobID) throws(BlobFailure) -> (any BlobReader)?
  /// Those that are not there are gone already.
  func remove(_ id: BlobID) throws(BlobFailure)
  /// Bytes that may still be written before what else lives on this disk suffers; below zero: too few.
  var room: Int64 { get }
}

/// One blob that is being written, by one thread at a time. Who neither finishes nor cancels it leaves bytes that the
/// next start removes.
public protocol BlobWriter: Sendable {
  func append(_ bytes: [UInt8]) throws(BlobFailure)
  /// Returns when all of it is durable under its name; what was there before under this name is replaced.
  func finish() throws(BlobFailure)
  func cancel()
}

/// What is open can be read to its end, also where it is removed meanwhile.
public protocol BlobReader: Sendable {
  /// Fewer bytes only where the blob ends.
  func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8]
}

public struct BlobFailure: Error, Sendable, CustomStringConvertible {
  /// There is no space left: for this user or for all.
  public let isFull: Bool
  public let description: String
  public init(isFull: Bool, _ description: String) {
    self.isFull = isFull
    self.description = description
  }
}
