import Dialogs
import HTTPPort

/// Deletes all current messages of a dialog, for the caller alone.
enum ClearDialog: ServedOperation {
  typealias Input = ClearDialogInput
  typealias Output = EmptyBody
  static let name = "dialog.clear"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/messages"

  static func perform(_ input: ClearDialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let request = try await PerUserMessageRequest(input.dialogId, call)
    guard input.whom == Audience.me.rawValue else {
      throw Problem(.malformed, "for-unknown", "for must be \"me\".", field: "for")
    }
    try await request.post(.clear(leaves: false))
    return .done
  }
}
