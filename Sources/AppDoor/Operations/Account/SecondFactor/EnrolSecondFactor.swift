import Accounts
import Dialogs
import HTTPPort

/// Creates a second factor, which is on once it is confirmed.
enum EnrolSecondFactor: ServedOperation {
  typealias Input = EnrolInput
  typealias Output = EnrolmentBody
  static let name = "me.secondFactor.create"
  static let method = Method.post
  static let path = "/v1/users/me/second-factor"
  static let successes = [201]

  static func perform(_ input: EnrolInput, _ call: RequestContext) async throws(Problem) -> Outcome<EnrolmentBody> {
    let method = try input.method.map { (text) throws(Problem) in try Checks.secondFactorMethod(text) } ?? .totp
    let made = try await call.accounts.enrol(
      try call.user(), by: method, password: input.password, from: call.address)
    switch made {
    case .totp(let secret, let uri): return .created(EnrolmentBody(method: method.rawValue, secret: secret, uri: uri))
    case .sms(let expires):
      return .created(EnrolmentBody(method: method.rawValue, expiresAt: expires))
    }
  }
}
