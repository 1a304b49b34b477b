import Addresses
import Dialogs
import XMPP

/// Handles what only components may send: messages in users' names (XEP-0356), and stanzas to another component of this
/// server. Everything else is `RemoteInbound`'s. The machine has checked that 'from' is of the component's domain.
enum ComponentInbound {
  static func received(_ stanza: Stanza, from link: ComponentLink) {
    do throws(StanzaError) {
      guard try special(stanza, from: link) else { return RemoteInbound.received(stanza, from: link) }
    } catch {
      link.refuse(stanza, error)
    }
  }

  /// Returns `false` if the stanza is one that anybody elsewhere may send.
  private static func special(_ stanza: Stanza, from link: ComponentLink) throws(StanzaError) -> Bool {
    try stanza.validate()
    guard let from = try stanza.from(), let to = try stanza.to() else { return false }
    if to.domain == link.home.domain {
      guard stanza.kind == .message, to.local == nil, PrivilegedEntity.isForwarding(stanza) else { return false }
      try PrivilegedEntity.message(stanza, from: from, link)
      return true
    }
    guard link.parley.remote(domain: to.domain, reachedFrom: link.home.id) != nil else { return false }
    let arrival = RemoteArrival(stanza: stanza, from: from, to: to, link: link)
    arrival.behindPosts { () throws(StanzaError) in try arrival.passOn() }
    return true
  }
}
