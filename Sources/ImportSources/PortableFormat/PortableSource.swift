/// A file in the portable format of XEP-0227 (1.1), with the files that it includes.
public struct PortableSource: ImportSource {
  private let path: String

  static let expected = "a file in the portable format (XEP-0227)"

  public init(_ path: String) { self.path = path }

  public func check() throws(SourceFailure) { try SourcePath.check(path, Self.expected) }

  public var places: String { "the <user/> elements of \(path) and of the files that it includes" }

  public func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    try PortableReader(path, kinds)
  }
}
