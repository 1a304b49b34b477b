import Addresses
import Basics
package import Dialogs
import HTTPPort

/// Ends sessions of a user, who may log in again at once.
package enum EndSessions: AdminOperation {
  package static let name = "users.disconnect"
  package static let routes = [
    AdminRoute(.delete, "/users/{jid}/sessions", .sessionsWrite)
  ]
  package static let needsServer = true

  package struct Input: Codable, Sendable {
    /// A bare address; with a resource, only that session is ended.
    let jid: String
    package init(jid: String) { self.jid = jid }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let jid: String
    /// The number of sessions that are being ended.
    package let sessions: Int
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let text = context.realm.map { input.jid.contains("@") ? input.jid : "\(input.jid)@\($0.domain)" } ?? input.jid
    guard let jid = JID(parsing: text) else {
      throw Problem(.malformed, "jid-malformed", "\(Line.safe(input.jid)) is not an address.", field: "jid")
    }
    let user = try await context.user(jid.bare.description)
    let hub = context.parley.hub
    let picks: @Sendable (OnlineSession) -> Bool = { jid.resource == nil || $0.resource == jid.resource }
    let count = hub.allSessions(of: user.id).count(where: picks)
    hub.close(user.id, .ended, where: picks)
    return Output(jid: jid.description, sessions: count)
  }
}
