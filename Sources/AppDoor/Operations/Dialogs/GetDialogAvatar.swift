import Accounts
import Dialogs
import HTTPPort

/// Returns the avatar of a group or public dialog, whichever protocol set it.
enum GetDialogAvatar: DownloadOperation {
  typealias Input = DialogInput
  typealias Output = EmptyBody
  static let name = "avatar.get"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/avatar"

  static func perform(_ input: DialogInput, _ call: RequestContext) async throws(Problem) -> Download {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let avatar = try await call.parley.read { reader -> Avatar? in
      guard let known = try reader.access(to: room.dialog, for: caller).room else { throw DialogResolver.unknown }
      return try reader.avatar(of: known)
    }
    guard let avatar else { throw Problem(.missing, "avatar-unknown", "This dialog has no picture.") }
    return Download(avatar)
  }
}

extension Download {
  /// Creates the download of an avatar. XMPP clients may have set any kind of file, even a page with a script.
  init(_ avatar: Avatar) {
    let kind = avatar.isKnown ? avatar.mediaType.split(separator: "/").last : nil
    self.init(
      mediaType: avatar.mediaType, bytes: avatar.bytes, tag: avatar.hash, fileName: kind.map { "avatar.\($0)" })
  }
}
