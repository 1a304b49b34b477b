import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Tracks whether the client receives what it is sent, for push services (XEP-0357).
extension XMPPSession {
  /// Notes that the client is gone: unconfirmed messages are for the push services.
  func lost() {
    parley.hub.update(handle) { $0.isConnected = false }
    oweMissed()
  }

  func oweMissed() {
    guard parley.registries.pushes.has(party.id) else { return }
    parley.submitSurely(Post(author: party, intent: .push(.missed(after: confirmation.confirmed)), completion: .none))
  }

  /// Checks that the client acknowledges. A sleeping device keeps its connection for hours; missing acknowledgements
  /// are the only sign.
  func listen(_ now: NIODeadline, _ outlet: any SessionOutlet) {
    guard management.isEnabled, management.outbound.count > 0,
      parley.registries.pushes.has(party.id, resource: jid.resource)
    else { return }
    if let deafSince {
      if !isDeaf, now >= deafSince + DoorLimits.deafness {
        isDeaf = true
        lost()
      }
    } else {
      deafSince = now
      requestAcknowledgement()
      outlet.flush()
    }
  }

  func heard() {
    deafSince = nil
    guard isDeaf else { return }
    isDeaf = false
    parley.hub.update(handle) { $0.isConnected = true }
  }
}
