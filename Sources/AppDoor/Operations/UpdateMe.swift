import AppProtocol
import Dialogs

/// Changes the caller's profile: absent members stay, null clears.
enum UpdateMe: ServedOperation {
  typealias Input = UpdateMeInput
  typealias Output = UserBody
  static let name = "me.update"
  static let method = Method.patch
  static let path = "/v1/users/me"

  static func perform(_ input: UpdateMeInput, _ call: Call) async throws(Problem) -> Outcome<UserBody> {
    let caller = try call.user()
    if case .set(let name) = input.name { try Checks.text(name, field: "name") }
    if case .set(let status) = input.status { try Checks.text(status, field: "status") }
    let name = change(input.name) { $0 }
    // Who renames themself in the app is called so in full, too.
    let draft = ProfileDraft(
      displayName: name, fullName: name == nil ? nil : .some(nil), status: change(input.status) { $0 },
      metadata: change(input.metadata) { $0.text })
    try await call.parley.post(.profile(draft), by: caller.user)
    return .ok(try await call.me())
  }

  private static func change<Value>(_ change: Change<Value>, _ text: (Value) -> String) -> String?? {
    switch change {
    case .keep: nil
    case .clear: .some(nil)
    case .set(let value): .some(text(value))
    }
  }
}
