import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// A component as the hub knows it: one live session for all users of its domain. Entries and signals for them are sent
/// as they were written, in the order of the log.
final class ComponentLink: RemoteLink {
  let id = SessionID(.random(in: .min ... .max))
  let party: Party
  /// The realm whose users it reaches.
  let home: Realm
  let lane: Lane
  let door: DoorContext
  private let connection: NIOLoopBound<ConnectionReference>

  /// The reference to the connection, which ends with it.
  final class ConnectionReference {
    weak var connection: ComponentConnection?
    let loopContext: LoopContext
    init(_ connection: ComponentConnection) {
      self.connection = connection
      loopContext = connection.loopContext
    }
  }

  /// Creates a link; called on the connection's loop.
  init(domain: BareJID, realm: RealmID, home: Realm, _ connection: ComponentConnection) {
    party = Party(remote: domain, realm: realm)
    self.home = home
    door = connection.door
    lane = connection.loopContext.lane
    self.connection = NIOLoopBound(ConnectionReference(connection), eventLoop: connection.loopContext.loop)
  }

  func receive(_ delivery: Delivery) {
    guard let connection = connection.value.connection else { return }
    switch delivery {
    case .entry(let entry, _):
      if case .contact(let change) = entry.fact { return connection.told(change, of: entry.author) }
      RemoteCalls.ended(entry, by: self)
      guard let message = Outbound.message(of: entry) else { return }
      connection.write {
        Outbound.writeStanza(
          of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource), withStanzaID: false,
          isDelayed: false, viewer: entry.author, into: &$0)
      }
    case .signal(let signal, _):
      switch signal {
      case .shown(let presence, let addresses):
        for address in addresses { connection.write { Outbound.write(presence, to: address, into: &$0) } }
      case .probes(let user, let addresses):
        for address in addresses {
          let probe = RelayedStanza(probing: address, for: user)
          connection.write { Outbound.write(probe, into: &$0) }
        }
      case .stanza(let stanza): connection.write { Outbound.write(stanza, into: &$0) }
      case .closed: connection.fail(StreamError(.systemShutdown))
      case .node(let event): notify(event)
      case .call(let signal): RemoteCalls.handle(signal, by: self)
      case .presence, .profile, .contactNamed, .occupant, .notice, .announcement, .undelivered: break
      }
    case .outcome(let token, let result): connection.work?.settled(token, result)
    case .handedOver, .owed: break
    }
  }

  func batchEnded() { flush() }

  // MARK: RemoteLink; used on the loop

  var realm: RealmID { party.realm }
  var loopContext: LoopContext { connection.value.loopContext }
  var work: LinkWork? { connection.value.connection?.work }
  func speaksFor(_ domain: String) -> Bool {
    domain == home.domain || domain == home.rooms || domain == door.options.uploads[home.domain]
      || domain == parley.pubsub.service(of: home.id)?.address.domain
  }
  var isWritable: Bool { connection.value.connection?.isWritable ?? true }
  func write(_ body: (inout ElementWriter) -> Void) { connection.value.connection?.write(body) }
  func flush() { connection.value.connection?.flush() }
}
