/// Reads the pinned messages of dialogs.
public protocol PinReader {
  /// Returns the pinned messages, the last pinned first; at most `Limits.pinsMax`.
  func pins(of messages: MessageAccess) throws -> [Position]
}

public protocol PinWriter {
  /// Pins or unpins a message.
  ///
  /// - Parameter at: the position of the entry that pinned it; `nil` to unpin it.
  func setPinned(_ at: Position?, message: Position, in dialog: DialogID) throws
}

extension Judge {
  /// Checks that one more message may be pinned.
  func checkPins(of dialog: DialogID) throws {
    guard try writer.pins(of: .server(dialog, .rules)).count >= Limits.pinsMax else { return }
    throw Problem(
      .tooLarge, "too-many-pins", "A dialog has at most \(Limits.pinsMax) pinned messages. Unpin one first.",
      field: "messageId")
  }
}
