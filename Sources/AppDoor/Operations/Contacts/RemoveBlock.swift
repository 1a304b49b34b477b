import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Unblocks a user; does nothing if they are not blocked.
enum RemoveBlock: ServedOperation {
  typealias Input = UserInput
  typealias Output = EmptyBody
  static let name = "block.delete"
  static let method = Method.delete
  static let path = "/v1/blocks/{userId}"

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    let address = try Checks.address(input.userId, domain: call.realm.domain)
    try await call.parley.post(.unblock([BlockPattern(JID(address))]), by: caller.user)
    return .done
  }
}
