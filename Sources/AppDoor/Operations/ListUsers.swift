import AppProtocol
import Dialogs

/// The users of the caller's app, by name.
enum ListUsers: ServedOperation {
  typealias Input = ListUsersInput
  typealias Output = PageBody<UserBody>
  static let name = "user.list"
  static let method = Method.get
  static let path = "/v1/users"

  static func perform(_ input: ListUsersInput, _ call: Call) async throws(Problem) -> Outcome<Output> {
    _ = try call.user()
    let limit = try Checks.limit(input.limit)
    let realm = call.realm.id
    let query = input.query.flatMap { $0.isEmpty ? nil : $0 }
    let users = try await call.parley.read {
      try $0.users(in: realm, matching: query, after: input.cursor, limit: limit + 1)
    }
    let page = users.prefix(limit)
    return .ok(
      PageBody(items: page.map { call.rendering.user($0) }, nextCursor: users.count > limit ? page.last?.name : nil))
  }
}
