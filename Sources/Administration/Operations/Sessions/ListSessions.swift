import Addresses
package import Dialogs
import HTTPPort

/// Lists a page of the sessions that are online, by address: those of a user, of a domain's users, or all.
package enum ListSessions: AdminOperation {
  package static let name = "sessions.list"
  package static let routes = [AdminRoute(.get, "/sessions", .usersRead, defaults: ["limit": "50"])]
  package static let needsServer = true

  package struct Input: Codable, Sendable {
    /// The user; nil for all users.
    let jid: String?
    /// The users' domain; nil for all that the caller has access to.
    let domain: String?
    /// The `nextCursor` of the previous page.
    let cursor: String?
    let limit: Int
    package init(jid: String?, domain: String?, after: String?, limit: Int) {
      self.jid = jid
      self.domain = domain
      self.cursor = after
      self.limit = limit
    }
  }

  package typealias Output = AdminPage<SessionRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    var user: UserID?
    if let jid = input.jid { user = try await context.user(jid).id }
    let realm = input.domain == nil ? context.realm : try context.realm(input.domain)
    let limit = Output.limit(input.limit)
    let sessions = context.parley.hub.allSessions(of: user)
      .filter { session in realm.map { $0.id == session.session.party.realm } ?? true }
      .map { (key: key(of: $0), session: $0) }
      .filter { $0.key > input.cursor ?? "" }
      .sorted { $0.key < $1.key }
    return Output(Array(sessions.prefix(limit)), limit: limit, cursor: \.key) { SessionRow($0.session) }
  }

  /// Returns the key that orders the list. The same resource may be online at both doors.
  private static func key(of session: OnlineSession) -> String {
    "\(session.session.party.address)/\(session.resource) \(session.door.rawValue)"
  }
}
