import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's app passwords, without their texts.
enum ListAppPasswords: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<AppPasswordBody>
  static let name = "appPassword.list"
  static let method = Method.get
  static let path = "/v1/app-passwords"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let passwords = try await call.accounts.appPasswords(of: caller.user.id)
    return .ok(
      PageBody(
        items: passwords.map { password in
          AppPasswordBody(
            id: String(password.id), name: password.name, createdAt: password.createdAt,
            usedAt: password.usedAt)
        }))
  }
}
