import Basics
import Dialogs

/// Encodes changes of drafts and of scheduled messages. They are stored as one kind of entry, and distinguished by the first
/// number of the payload.
extension FactCoding {
  static func write(_ draft: DialogDraft?, in dialog: DialogID, _ out: inout ByteWriter) {
    out.write(Int64(1))
    out.write(dialog.number)
    out.write(draft) {
      $0.write($1.text)
      $0.write($1.replyTo) { $0.write($1.number) }
      $0.write($1.updatedAt.milliseconds)
      $0.write($1.position.number)
    }
  }

  static func write(_ change: ScheduledChange, _ out: inout ByteWriter) {
    out.write(Int64(2))
    out.write(change.id)
    out.write(change.dialog.number)
    out.write(change.due.milliseconds)
    out.write(Int64(change.state.rawValue))
    out.write(change.message) { $0.write($1.number) }
    out.write(change.failure) {
      $0.write($1.code)
      $0.write($1.text)
    }
  }

  static func draftOrScheduled(_ from: inout ByteReader) throws(StoreFailure) -> Fact {
    switch try from.int() {
    case 1:
      let dialog = DialogID(try from.int())
      return .draft(
        dialog,
        try from.optional { from throws(StoreFailure) in
          DialogDraft(
            text: try from.text(), replyTo: try position(&from), updatedAt: Timestamp(milliseconds: try from.int()),
            position: Position(try from.int()))
        })
    case 2:
      let (id, dialog) = (try from.int(), DialogID(try from.int()))
      let due = Timestamp(milliseconds: try from.int())
      guard let state = ScheduledChange.State(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
      let message = try position(&from)
      let failure = try from.optional { from throws(StoreFailure) in
        ScheduledMessage.Failure(code: try from.text(), text: try from.text())
      }
      return .scheduledMessage(
        ScheduledChange(id: id, dialog: dialog, due: due, state: state, message: message, failure: failure))
    default: throw damaged
    }
  }

  private static func position(_ from: inout ByteReader) throws(StoreFailure) -> Position? {
    try from.optional { from throws(StoreFailure) in Position(try from.int()) }
  }
}
