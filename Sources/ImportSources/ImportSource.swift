/// The kinds of records that one pass over a source reads. Accounts come first, then files, to which messages refer, then
/// rooms and messages in the order of their time, then everything else.
public struct RecordKinds: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let accounts = RecordKinds(rawValue: 1)
  public static let copies = RecordKinds(rawValue: 2)
  /// Rosters, vCards, private XML, nodes, blocks, the people of rooms, and contact groups.
  public static let settings = RecordKinds(rawValue: 4)
  /// Rooms with their configuration.
  public static let rooms = RecordKinds(rawValue: 8)
  /// Uploaded files.
  public static let files = RecordKinds(rawValue: 16)
}

/// A thing that a source yields.
public enum Reading: Sendable, Equatable {
  case record(ImportRecord, Place)
  /// Something that could not be read: nothing of it is taken.
  case flaw(Place, String)
}

/// The data of another server.
public protocol ImportSource: Sendable {
  /// Checks that what the operator has named is there and is a source of this kind. It reads little, and is called before
  /// anything is created.
  func check() throws(SourceFailure)
  /// The places where records are looked for, for the report that there are none.
  var places: String { get }
  /// Begins a pass.
  func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader
  /// Whether there may be uploaded files, which are a pass of their own (`RecordKinds.files`).
  var hasFiles: Bool { get }
}

extension ImportSource {
  public var hasFiles: Bool { false }
}

/// One pass over a source.
public protocol RecordReader: AnyObject {
  /// Returns what comes next; `nil` at the end.
  ///
  /// - Throws: if the source cannot be read any further.
  func next() throws(SourceFailure) -> Reading?
  /// The share of the source that has been read, from 0 to 1.
  var fraction: Double { get }
}

/// The reason why a source cannot be read.
public struct SourceFailure: Error, Sendable, Equatable, CustomStringConvertible {
  public let place: Place
  public let text: String
  public init(_ place: Place, _ text: String) {
    self.place = place
    self.text = text
  }
  public var description: String { "\(place): \(text)" }
}
