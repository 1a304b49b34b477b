import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's logins, one per device, identified by the device's id.
enum ListSessions: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<SessionSummaryBody>
  static let name = "session.list"
  static let method = Method.get
  static let path = "/v1/sessions"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let grants = try await call.accounts.grants(of: caller.user.id)
    return .ok(
      PageBody(
        items: grants.map { grant in
          SessionSummaryBody(
            id: grant.device, deviceId: grant.device, client: grant.client, createdAt: grant.createdAt,
            usedAt: grant.usedAt, current: grant.id == caller.grant)
        }))
  }
}
