import AppProtocol
import Dialogs

/// Makes a second factor, which counts once it is confirmed.
enum EnrolSecondFactor: ServedOperation {
  typealias Input = EnrolInput
  typealias Output = EnrolmentBody
  static let name = "me.secondFactor.create"
  static let method = Method.post
  static let path = "/v1/users/me/second-factor"
  static let successes = [201]

  static func perform(_ input: EnrolInput, _ call: Call) async throws(Problem) -> Outcome<EnrolmentBody> {
    let made = try await call.parley.enrol(try call.user(), password: input.password, from: call.address)
    return .created(EnrolmentBody(secret: made.secret, uri: made.uri))
  }
}
