import Accounts
import Basics
import Dialogs
import HTTPPort

/// Lists the STUN and TURN servers for the caller's calls.
enum ListIceServers: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<IceServerBody>
  static let name = "iceServer.list"
  static let method = Method.get
  static let path = "/v1/ice-servers"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let user = try call.user().user
    let services = call.parley.options.services
    let now = call.parley.clock.now
    return .ok(
      PageBody(
        items: services.all.map { service in
          let credentials = services.credentials(for: user, at: service, now: now)
          return IceServerBody(
            urls: [service.uri], username: credentials?.username, credential: credentials?.password,
            expiresAt: credentials?.expires)
        }))
  }
}
