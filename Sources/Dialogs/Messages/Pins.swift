/// What stands at the top of a dialog.
public protocol PinReader {
  /// What was pinned last comes first; at most `Limits.pinsMax`.
  func pins(of dialog: DialogID) throws -> [Position]
}

public protocol PinWriter {
  /// - Parameter at: of the entry that pinned it; nil: it is pinned no more.
  func setPinned(_ at: Position?, message: Position, in dialog: DialogID) throws
}

extension Judge {
  /// There is room for one more.
  func checkPins(of dialog: DialogID, _ writer: any StoreWriter) throws {
    guard try writer.pins(of: dialog).count >= Limits.pinsMax else { return }
    throw Problem(
      .tooLarge, "too-many-pins", "A dialog has at most \(Limits.pinsMax) pinned messages. Unpin one first.",
      field: "messageId")
  }
}
