import Accounts
import Dialogs
import HTTPPort

/// Revokes an app password, and ends the sessions opened with it.
enum DeleteAppPassword: ServedOperation {
  typealias Input = AppPasswordReference
  typealias Output = EmptyBody
  static let name = "appPassword.delete"
  static let method = Method.delete
  static let path = "/v1/app-passwords/{appPasswordId}"

  static func perform(_ input: AppPasswordReference, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody>
  {
    let caller = try call.user()
    guard let id = Int64(input.appPasswordId) else {
      throw Problem(.missing, "app-password-unknown", "There is no such app password.", field: "appPasswordId")
    }
    try await call.accounts.removeAppPassword(id, of: caller.user.id)
    return .done
  }
}
