import Accounts
import Dialogs
import HTTPPort

/// Sets the caller's telephone number, proved by a code.
enum SetMyPhone: ServedOperation {
  typealias Input = SetPhoneInput
  typealias Output = MeBody
  static let name = "me.phone.put"
  static let method = Method.put
  static let path = "/v1/users/me/phone"

  static func perform(_ input: SetPhoneInput, _ call: RequestContext) async throws(Problem) -> Outcome<MeBody> {
    let caller = try call.user()
    try await call.accounts.bind(
      .phone(input.phone), code: input.code, password: input.password, to: caller.user, from: call.address)
    return .ok(try await call.me())
  }
}
