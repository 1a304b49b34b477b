import Accounts
import Dialogs
import HTTPPort

/// Sets the avatar of a group or public dialog; repeating it changes nothing. XMPP clients find it in the room's vCard.
enum PutDialogAvatar: UploadOperation {
  typealias Input = DialogInput
  typealias Output = DialogBody
  static let name = "avatar.put"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/avatar"
  static let bytesMax = Limits.avatarSourceBytesMax

  static func perform(
    _ input: DialogInput, _ bytes: [UInt8], _ call: RequestContext
  ) async throws -> Outcome<DialogBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    // The core decides; but a picture of somebody who may not set it is not worth the decoding.
    let access = try await call.parley.read { try $0.access(to: room.dialog, for: caller) }
    guard let affiliation = access.readable?.member?.affiliation, affiliation >= .admin else {
      throw access.refusal(.notAdmin)
    }
    let avatar = try await Checks.avatar(shrinking: bytes, for: caller.id, call.parley)
    try await call.door.dialogs.post(
      .configure(.dialog(room.dialog), SettingsDraft(avatar: avatar) { _ in }), in: room, by: caller)
    return .ok(try await GetDialog.body(room.dialog, call))
  }
}
