/// A file in the portable format of XEP-0227 (1.1), with the files that it includes.
public struct PortableSource: ImportSource {
  private let path: String

  public init(_ path: String) { self.path = path }

  public func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    try PortableReader(path, kinds)
  }
}
