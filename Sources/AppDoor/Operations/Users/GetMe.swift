import Dialogs
import HTTPPort

/// Returns the caller's own user.
enum GetMe: ServedOperation {
  typealias Input = NoInput
  typealias Output = MeBody
  static let name = "me.get"
  static let method = Method.get
  static let path = "/v1/users/me"
  static let isConditional = true

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<MeBody> {
    .ok(try await call.me())
  }

  static func read(_ id: UserID, _ parley: Parley) async throws(Problem) -> User {
    guard let user = try await parley.read({ try $0.user(id) }) else { throw GetUser.unknown }
    return user
  }
}
