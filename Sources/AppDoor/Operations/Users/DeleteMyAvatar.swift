import Accounts
import Dialogs
import HTTPPort

/// Removes the caller's avatar; does nothing if there is none.
enum DeleteMyAvatar: ServedOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "me.avatar.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/avatar"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    try await call.parley.post(.profile(ProfileDraft(avatar: .some(nil))), by: caller)
    return .done
  }
}
