import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// A component as the hub knows it: one live session for all users of its domain. Entries and signals for them are sent
/// as they were written, in the order of the log.
final class ComponentLink: LiveSession {
  let id = SessionID(.random(in: .min ... .max))
  let party: Party
  /// The realm whose users it reaches.
  let home: Realm
  let lane: Lane
  private let connection: NIOLoopBound<ConnectionReference>

  /// The reference to the connection, which ends with it.
  final class ConnectionReference {
    weak var connection: ComponentConnection?
    init(_ connection: ComponentConnection) { self.connection = connection }
  }

  /// Creates a link; called on the connection's loop.
  init(domain: BareJID, realm: RealmID, home: Realm, _ connection: ComponentConnection) {
    party = Party(remote: domain, realm: realm)
    self.home = home
    lane = connection.loopContext.lane
    self.connection = NIOLoopBound(ConnectionReference(connection), eventLoop: connection.loopContext.loop)
  }

  func receive(_ delivery: Delivery) {
    guard let connection = connection.value.connection else { return }
    switch delivery {
    case .entry(let entry, _):
      if case .contact(let change) = entry.fact { return connection.told(change, of: entry.author) }
      guard let message = Outbound.message(of: entry) else { return }
      connection.write {
        Outbound.writeStanza(
          of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource), withStanzaID: false,
          isDelayed: false, viewer: entry.author, into: &$0)
      }
    case .signal(let signal, _):
      switch signal {
      case .shown(let presence, let to): connection.write { Outbound.write(presence, to: to, into: &$0) }
      case .stanza(let stanza): connection.write { Outbound.write(stanza, into: &$0) }
      case .closed: connection.fail(StreamError(.systemShutdown))
      case .presence, .profile, .occupant, .notice, .node, .announcement, .call: break
      }
    case .outcome(_, let result): connection.settled(result)
    case .handedOver: break
    }
  }

  func batchEnded() { flush() }

  /// Writes an answer of the server itself; called on the loop.
  func write(_ body: (inout ElementWriter) -> Void) { connection.value.connection?.write(body) }
  func flush() { connection.value.connection?.flush() }
  /// The connection; `nil` if it is gone.
  var connected: ComponentConnection? { connection.value.connection }
  /// Notes that an impersonated session has answered its request.
  func ended(_ session: XMPPSession) { connection.value.connection?.ended(session) }
}
