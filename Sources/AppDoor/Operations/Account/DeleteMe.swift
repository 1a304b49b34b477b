import Accounts
import Dialogs
import HTTPPort

/// Deletes the caller's account, and with `erase` all their messages. It answers once the deletion is durable; the rest
/// follows, also after a restart.
enum DeleteMe: ServedOperation {
  typealias Input = DeleteMeInput
  typealias Output = EmptyBody
  static let name = "me.delete"
  static let method = Method.delete
  static let path = "/v1/users/me"

  static func perform(_ input: DeleteMeInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    // A stolen token must not suffice, and not every account has a password: the user must sign in again, in any way.
    guard try await call.accounts.isFresh(caller) else {
      throw Problem(.forbidden, "login-stale", "Sign in again, and delete the account with the new token.")
    }
    let task = try await call.accounts.beginDeletion(of: caller.user.id, erasing: input.erase ?? false)
    call.accounts.finishInBackground(task)
    return .done
  }
}
