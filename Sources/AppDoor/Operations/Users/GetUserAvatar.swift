import Accounts
import Dialogs
import HTTPPort

/// Returns a user's avatar, whichever protocol set it, if the caller may see it.
enum GetUserAvatar: DownloadOperation {
  typealias Input = UserInput
  typealias Output = EmptyBody
  static let name = "user.avatar"
  static let method = Method.get
  static let path = "/v1/users/{userId}/avatar"

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Download {
    let caller = try call.user().user
    let user = try await GetUser.find(input.userId, call)
    guard let avatar = try await call.parley.read({ try $0.avatar(of: user, for: caller) }) else {
      throw Problem(.missing, "avatar-unknown", "There is no picture of this user for you.")
    }
    return Download(avatar)
  }
}
