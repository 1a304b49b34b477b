import Accounts
import Dialogs
import HTTPPort

/// Sets the caller's avatar; repeating it changes nothing. XMPP clients find it in the vCard and in the nodes of
/// XEP-0084.
enum PutMyAvatar: UploadOperation {
  typealias Input = NoInput
  typealias Output = UserBody
  static let name = "me.avatar.put"
  static let method = Method.put
  static let path = "/v1/users/me/avatar"
  static let bytesMax = Limits.avatarSourceBytesMax

  static func perform(_ input: NoInput, _ bytes: [UInt8], _ call: RequestContext) async throws -> Outcome<UserBody> {
    let caller = try call.user().user
    // The core decides; but a picture of somebody who may not set it is not worth the decoding.
    if call.parley.isGuest(caller.id) { throw Problem.guestLimited }
    let avatar = try await Checks.avatar(shrinking: bytes, for: caller.id, call.parley)
    try await call.parley.post(.profile(ProfileDraft(avatar: avatar)), by: caller)
    return .ok(call.rendering.user(try await GetMe.read(caller.id, call.parley)))
  }
}
