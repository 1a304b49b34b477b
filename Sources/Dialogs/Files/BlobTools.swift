/// The programs that inspect files before they can be read. The core calls them on threads that may block, at most
/// `inspectionsMax` at a time, and one of a user.
public struct BlobTools: Sendable {
  /// The scanner; `nil` to scan nothing.
  public var scanner: (any BlobScanner)?
  /// Whether a file that could not be scanned is refused (`scan-unavailable`); otherwise it is accepted, with a line in
  /// the log.
  public var isScanNeeded: Bool
  /// The image tool; `nil` for no thumbnails, and unchanged avatars.
  public var pictures: (any PictureShrinker)?
  /// The files that are inspected at a time: fewer where the memory is small.
  public var inspectionsMax = Limits.inspectionsMax

  public init(
    scanner: (any BlobScanner)? = nil, isScanNeeded: Bool = true, pictures: (any PictureShrinker)? = nil
  ) {
    self.scanner = scanner
    self.isScanNeeded = isScanNeeded
    self.pictures = pictures
  }
}

/// A scanner, which decides whether a file may be given to others.
public protocol BlobScanner: Sendable {
  /// Scans a file, within a time limit of its own.
  func scan(_ path: String) throws(ScanFailure) -> ScanVerdict
}

public enum ScanVerdict: Hashable, Sendable {
  case clean
  /// The file is refused; the value is the scanner's name for its content.
  case refused(String)
}

/// A failure of a scanner to reach a verdict.
public struct ScanFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A tool that shrinks images.
public protocol PictureShrinker: Sendable {
  /// Returns the image the right way up, without metadata; `nil` if it is no image, or too much work.
  ///
  /// - Parameter side: pixels that neither side of the result exceeds; smaller images keep their size.
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
