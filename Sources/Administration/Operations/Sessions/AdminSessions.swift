import Addresses
import Basics
import Dialogs

/// A session in the operators' view.
package struct SessionRow: Codable, Hashable, Sendable {
  /// 16 hex digits, which name it until its client connects anew.
  package let id: String
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
  /// The network address of the client; nil if it is not known.
  package let address: String?
  /// The client's name for itself, and for its device.
  package let software: String?
  package let device: String?
  /// The credential that it was opened with: `password`, `login` of the app, `app-password`; nil if there is none.
  package let credential: String?

  init(_ session: OnlineSession) {
    id = Self.id(session)
    jid = session.session.party.address.description
    door = session.door == .xmpp ? "xmpp" : "app"
    resource = session.resource
    since = session.since.description
    connected = session.isConnected
    inactive = session.isInactive
    available = session.isAvailable
    priority = Int(session.priority)
    status = session.presence?.status
    address = session.session.peer
    software = session.access?.agent?.software
    device = session.access?.agent?.device
    credential = session.access.map { access in
      switch access.source {
      case .password: "password"
      case .grant: "login"
      case .appPassword: "app-password"
      }
    }
  }

  static func id(_ session: OnlineSession) -> String {
    let digits = String(session.session.id.number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension AdminContext {
  /// Returns a session by its id.
  func session(_ id: String) throws(Problem) -> OnlineSession {
    let found = parley.hub.allSessions(of: nil).first { session in
      SessionRow.id(session) == id && realm.map { $0.id == session.session.party.realm } ?? true
    }
    guard let found else {
      throw Problem(.missing, "session-unknown", "There is no session \(Line.safe(id)).", field: "id")
    }
    return found
  }
}

/// The input that names a session.
package struct SessionInput: Codable, Sendable {
  let id: String
  package init(id: String) { self.id = id }
}
