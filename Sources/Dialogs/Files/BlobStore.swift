/// Where the bytes of blobs are. Every call may block; none is made on an event loop.
///
/// A blob is written once and never changes. It is there, whole and durable, or it is not. What every store must do is said
/// by a suite that each of them passes.
public protocol BlobStore: Sendable {
  /// A place for bytes that are nothing yet. Space for all of them is claimed where the system can. What was written under
  /// this name and not finished is gone.
  func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter
  /// As `begin`, behind what a writer that was suspended, or whose process ended, has left; nothing: behind nothing. What
  /// was finished and not settled is not lost either.
  func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter
  /// nil: there are none.
  func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)?
  /// Also what was written and not finished. Those that are not there are gone already.
  func remove(_ name: BlobName) throws(BlobFailure)
  /// What was finished is known to be so: nobody will resume it.
  func settle(_ name: BlobName)
  /// Those that can be resumed.
  var unsettled: [BlobID] { get }
  /// Bytes that may still be written before what else lives on this disk suffers; below zero: too few.
  var room: Int64 { get }
  /// It is at the other end of a network: more threads wait for it.
  var isRemote: Bool { get }
}

/// What a store keeps bytes under.
public struct BlobName: Hashable, Sendable, CustomStringConvertible {
  public enum Part: String, Sendable, CaseIterable {
    case file
    /// The small picture beside it, a JPEG.
    case thumbnail
  }
  public let id: BlobID
  public let part: Part

  public init(_ id: BlobID, _ part: Part = .file) {
    self.id = id
    self.part = part
  }

  /// 32 hex digits, and what part it is unless it is the file.
  public var description: String { part == .file ? id.description : "\(id)-\(part.rawValue)" }
}

/// One blob that is being written, by one thread at a time; what is written can be read. Who neither finishes nor suspends
/// nor cancels it leaves bytes that the next start removes, or that can be resumed.
public protocol BlobWriter: BlobReader {
  /// Bytes that were there from the beginning.
  var start: Int64 { get }
  /// The file of this machine where what is written is, for programs that look at it.
  var path: String { get }
  func append(_ bytes: [UInt8]) throws(BlobFailure)
  /// Returns when all of it is durable under its name; what was there before under this name is replaced.
  /// - Parameter sha256: of all of it.
  func finish(sha256: [UInt8]) throws(BlobFailure)
  /// Returns when what is written is durable, so that it can be resumed.
  /// - Returns: how many bytes that are.
  @discardableResult
  func suspend() throws(BlobFailure) -> Int64
  /// Nothing is left, where it was begun; what was resumed is left as it is.
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
