import Addresses
import Dialogs
import XMPP

/// The access to information that presence would reveal: for those with a subscription of type `from` or `both` (RFC
/// 6120 13.10.2 calls the opposite a presence leak). Several XEPs share the rule: 0012 8, 0030 8.
enum PresenceAccess: Sendable {
  /// Access to the user, as stored.
  case granted(User)
  /// The user exists, but does not share presence with the requester.
  case denied
  /// There is no such user, or none that the requester may notice: unknown, disabled, or blocking them (XEP-0191 3.3).
  case absent

  /// Reads the access from the store; called on a reader's thread.
  static func to(_ address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader) throws -> Self {
    guard let user = try reader.user(address), user.state == .active else { return .absent }
    if user.id == viewer.id { return .granted(user) }
    if try reader.blocks(of: user.id).contains(where: { $0.matches(jid.jid) }) { return .absent }
    let contact = try reader.contact(of: user.id, viewer.address)
    return contact?.subscription.from == true ? .granted(user) : .denied
  }

  /// Returns the same for a user who is online, without the store.
  static func isGranted(to address: BareJID, for viewer: Party, at jid: FullJID, _ hub: Hub) -> Bool {
    if address == viewer.address { return true }
    guard let user = hub.user(at: address), let contactSnapshot = hub.contactSnapshot(of: user),
      !contactSnapshot.blocks(jid.jid)
    else { return false }
    return contactSnapshot.contacts[viewer.address]?.subscription.from == true
  }
}

extension Turn {
  /// Checks a request to an app's session, which the server answers: only users who may see its presence learn that it
  /// exists.
  func checkSight() throws(StanzaError) {
    guard let to, PresenceAccess.isGranted(to: to.bare, for: party, at: jid, parley.hub) else {
      throw StanzaError(.serviceUnavailable)
    }
  }
}
