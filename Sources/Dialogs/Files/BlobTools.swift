/// Programs that look at files before anybody may read them. The core asks them on threads that may block, at most
/// `Limits.inspectionsMax` at a time.
public struct BlobTools: Sendable {
  /// nil: nothing is scanned.
  public var scanner: (any BlobScanner)?
  /// A file that could not be scanned is not taken (`scan-unavailable`); else it is, with a line in the log.
  public var isScanNeeded: Bool
  /// nil: there are no thumbnails, and avatars are taken as they come.
  public var pictures: (any PictureShrinker)?

  public init(
    scanner: (any BlobScanner)? = nil, isScanNeeded: Bool = true, pictures: (any PictureShrinker)? = nil
  ) {
    self.scanner = scanner
    self.isScanNeeded = isScanNeeded
    self.pictures = pictures
  }
}

/// Says whether a file may be given to others.
public protocol BlobScanner: Sendable {
  /// Ends within a time of its own.
  func scan(_ path: String) throws(ScanFailure) -> ScanVerdict
}

public enum ScanVerdict: Hashable, Sendable {
  case clean
  /// What it is, as the scanner calls it.
  case refused(String)
}

/// There is no verdict.
public struct ScanFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// Makes pictures smaller.
public protocol PictureShrinker: Sendable {
  /// - Parameter side: pixels that neither side of the result exceeds; smaller pictures stay as large as they are.
  /// - Returns: the picture the right way up, without what else was in the file; nil: it is none, or too much work.
  func shrunk(_ picture: PictureSource, side: Int, as form: PictureForm) -> [UInt8]?
}

public enum PictureSource: Sendable {
  case file(String)
  case bytes([UInt8])
}

public enum PictureForm: Sendable {
  case jpeg
  case png
}
