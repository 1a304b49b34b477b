import Accounts
import Dialogs
import HTTPPort

/// Stops sharing the caller's location.
enum StopSharingLocation: ServedOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "me.location.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/location"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await call.accounts.stopSharing(try call.user().user)
    return .done
  }
}
