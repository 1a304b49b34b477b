import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Blocks a user in both protocols (XEP-0191).
enum PutBlock: ServedOperation {
  typealias Input = UserInput
  typealias Output = BlockBody
  static let name = "block.put"
  static let method = Method.put
  static let path = "/v1/blocks/{userId}"

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Outcome<BlockBody> {
    let caller = try call.user()
    let address = try Checks.address(input.userId, domain: call.realm.domain)
    if address == caller.user.address {
      throw Problem(.forbidden, "block-self", "You cannot block yourself.", field: "userId")
    }
    let pattern = BlockPattern(JID(address))
    try await call.parley.post(.block([pattern]), by: caller.user)
    return .ok(call.rendering.block(pattern, domain: call.realm.domain))
  }
}
