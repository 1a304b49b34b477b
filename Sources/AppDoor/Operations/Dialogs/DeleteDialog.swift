import Accounts
import Dialogs
import HTTPPort

/// Destroys a group or public dialog for everyone, by an owner; its address and id are never reused. Or removes any
/// dialog from the caller's list, and clears it for them, until its next message; they still belong to it.
enum DeleteDialog: ServedOperation {
  typealias Input = DeleteDialogInput
  typealias Output = EmptyBody
  static let name = "dialog.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}"

  static func perform(_ input: DeleteDialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    if input.whom == Audience.me.rawValue {
      try await PerUserMessageRequest(input.dialogId, call).post(.clear(leaves: true))
      return .done
    }
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let intent: RoomIntent
    do throws(Problem) {
      guard input.whom == Audience.everyone.rawValue else {
        throw Problem(.malformed, "for-unknown", "for must be \"everyone\" or \"me\".", field: "for")
      }
      intent = .destroy(
        .dialog(room.dialog), reason: try Checks.line(input.reason, field: "reason"), alternate: nil)
    } catch {
      throw await call.door.dialogs.refusal(error, of: .room(room), to: caller)
    }
    try await call.door.dialogs.post(intent, in: room, by: caller)
    return .done
  }
}
