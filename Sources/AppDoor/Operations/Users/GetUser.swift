import Accounts
import Dialogs
import HTTPPort

/// Returns a user of the caller's app, or one elsewhere whom the caller knows; for a deleted one only the id. To a guest
/// others are unknown with whom they share no dialog.
enum GetUser: ServedOperation {
  typealias Input = UserInput
  typealias Output = UserBody
  static let name = "user.get"
  static let method = Method.get
  static let path = "/v1/users/{userId}"
  static let isConditional = true

  static let unknown = Problem(.missing, "user-unknown", "There is no such user.", field: "userId")

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Outcome<UserBody> {
    let caller = try call.user().user
    let user = try await find(input.userId, call)
    return .ok(call.rendering.user(try await call.parley.read { try $0.view(of: user, for: caller) }))
  }

  static func find(_ id: String, _ call: RequestContext) async throws(Problem) -> User {
    let address = try Checks.address(id, domain: call.realm.domain)
    let caller = try call.user().user
    let elsewhere = call.parley.federatedRealm(of: call.realm.id).id
    let findsEverybody = call.parley.findsEverybody(caller.id)
    let user = try await call.parley.read { reader -> User? in
      guard let user = try reader.user(address, knownTo: caller, elsewhere: elsewhere),
        try findsEverybody || reader.sharesDialog(caller, with: user.id)
      else { return nil }
      return user
    }
    guard let user else { throw unknown }
    return user
  }
}
