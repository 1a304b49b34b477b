import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Whether the client is there to see what it is sent, for push services (XEP-0357).
extension XMPPSession {
  /// Nobody is at the other end any more: what was said and not confirmed is for the push services.
  func lost() {
    parley.hub.update(handle) { $0.isConnected = false }
    oweMissed()
  }

  func oweMissed() {
    guard parley.pushes.has(party.id) else { return }
    parley.submitSurely(Post(author: party, intent: .push(.missed(after: confirmation.confirmed)), completion: .none))
  }

  /// A device that sleeps keeps its connection for hours; that it does not acknowledge is how one learns so.
  func listen(_ now: NIODeadline, _ connection: XMPPConnection) {
    guard management.isEnabled, management.outbound.count > 0, parley.pushes.has(party.id, resource: jid.resource)
    else { return }
    if let deafSince {
      if !isDeaf, now >= deafSince + DoorLimits.deafness {
        isDeaf = true
        lost()
      }
    } else {
      deafSince = now
      connection.write { StreamManagement.writeRequest(into: &$0) }
      connection.flush()
    }
  }

  func heard() {
    deafSince = nil
    guard isDeaf else { return }
    isDeaf = false
    parley.hub.update(handle) { $0.isConnected = true }
  }
}
