import Accounts
import Dialogs
import HTTPPort

/// Removes the avatar of a group or public dialog; does nothing if there is none.
enum DeleteDialogAvatar: ServedOperation {
  typealias Input = DialogInput
  typealias Output = EmptyBody
  static let name = "avatar.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/avatar"

  static func perform(_ input: DialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    try await call.door.dialogs.post(
      .configure(.dialog(room.dialog), SettingsDraft(avatar: .some(nil)) { _ in }), in: room, by: caller)
    return .done
  }
}
