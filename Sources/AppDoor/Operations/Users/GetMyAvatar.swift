import Accounts
import Dialogs
import HTTPPort

/// Returns the caller's own avatar.
enum GetMyAvatar: DownloadOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "me.avatar.get"
  static let method = Method.get
  static let path = "/v1/users/me/avatar"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Download {
    let caller = try call.user().user
    let user = try await GetMe.read(caller.id, call.parley)
    guard let avatar = try await call.parley.read({ try $0.avatar(of: user) }) else {
      throw Problem(.missing, "avatar-unknown", "You have no picture.")
    }
    return Download(avatar)
  }
}
