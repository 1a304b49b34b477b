import Addresses
import Basics
import Dialogs

/// A session in the operators' view.
package struct SessionRow: Codable, Hashable, Sendable {
  package let jid: String
  /// `xmpp` or `app`.
  package let door: String
  package let resource: String
  /// The time at which the session came online; after a restart of the server, that of the restart.
  package let since: String
  /// Whether a client is connected at present; without one the session waits for its client to return.
  package let connected: Bool
  /// Whether the client has said that nobody is looking at it (XEP-0352).
  package let inactive: Bool
  package let available: Bool
  package let priority: Int
  package let status: String?

  init(_ session: OnlineSession) {
    jid = session.session.party.address.description
    door = session.door == .xmpp ? "xmpp" : "app"
    resource = session.resource
    since = session.since.description
    connected = session.isConnected
    inactive = session.isInactive
    available = session.isAvailable
    priority = Int(session.priority)
    status = session.presence?.status
  }
}
