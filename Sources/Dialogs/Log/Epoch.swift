public import Basics

/// The beginning of an epoch of the public ids. Numbers that were assigned after a backup are assigned again once it is
/// restored, with another meaning. So a restored backup begins a new epoch: ids of entries in the backup stay the same, ids
/// of later entries differ from those of all lost entries, and ids of lost entries are unknown.
public struct Epoch: Hashable, Sendable {
  /// The last position and the last dialog before it.
  public let position: Position
  public let dialog: DialogID
  /// The number that its ids contain, which no other epoch has.
  public let number: UInt32
  public let began: Timestamp

  public init(after position: Position, _ dialog: DialogID, number: UInt32, began: Timestamp) {
    self.position = position
    self.dialog = dialog
    self.number = number
    self.began = began
  }
}

extension Epoch: Record {
  public enum Field: String, CaseIterable, Sendable { case position, dialog, number, began }
  public static let kind = "epochs"
  public static let key: [Field] = [.position]
  public var fields: [FieldValue] { [position.field, dialog.field, Int64(number).field, began.field] }
  public init(_ fields: inout FieldReader) throws {
    position = try fields.next()
    dialog = try fields.next()
    let number: Int64 = try fields.next()
    self.number = UInt32(truncatingIfNeeded: number)
    began = try fields.next()
  }
}

extension RecordReader {
  /// Returns the epochs that restored backups have begun, the first one first.
  public func epochs() throws -> [Epoch] { try records(Epoch.self) }
}

extension StoreWriter {
  /// Begins an epoch behind everything that is stored, and forgets the streams that could be resumed when the backup was
  /// made: their clients have received later entries, and must log in again.
  public func beginEpoch(at time: Timestamp) throws -> Epoch {
    let epoch = Epoch(
      after: try head().position, try lastDialog(), number: .random(in: 1 ... .max), began: time)
    // An epoch that began at the same position has no entries, and is replaced.
    try put(epoch)
    try setSuspended([])
    return epoch
  }
}
