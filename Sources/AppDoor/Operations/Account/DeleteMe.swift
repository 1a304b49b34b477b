import Accounts
import Dialogs
import HTTPPort

/// Deletes the caller's account, and with `erase` all that they said. Answered as soon as it is certain; the rest follows, also
/// after a restart.
enum DeleteMe: ServedOperation {
  typealias Input = DeleteMeInput
  typealias Output = EmptyBody
  static let name = "me.delete"
  static let method = Method.delete
  static let path = "/v1/users/me"

  static func perform(_ input: DeleteMeInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    // A token that was found or stolen must not be enough, and not every account has a password: whoever it is shows anew, in
    // whatever way they sign in, that it is them.
    guard try await call.accounts.isFresh(caller) else {
      throw Problem(.forbidden, "login-stale", "Sign in again, and delete the account with the new token.")
    }
    let task = try await call.accounts.beginDeletion(of: caller.user.id, erasing: input.erase ?? false)
    call.accounts.finishInBackground(task)
    return .done
  }
}
