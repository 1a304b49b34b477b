import Accounts
import Dialogs
import HTTPPort

/// Creates a password for one third-party XMPP client, which is shown this once.
enum CreateAppPassword: ServedOperation {
  typealias Input = AppPasswordInput
  typealias Output = AppPasswordBody
  static let name = "appPassword.create"
  static let method = Method.post
  static let path = "/v1/app-passwords"
  static let successes = [201]

  static func perform(
    _ input: AppPasswordInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<AppPasswordBody> {
    let caller = try call.user()
    try Checks.text(input.name, field: "name")
    let (password, text) = try await call.accounts.makeAppPassword(for: caller.user.id, name: input.name)
    return .created(
      AppPasswordBody(
        id: String(password.id), name: password.name, password: text, createdAt: password.createdAt))
  }
}
