public import Addresses

/// The decision whether a user may know that another is online: they need a subscription (RFC 6120 13.10.2 calls the
/// opposite a presence leak). Several XEPs share the rule: 0012 8, 0030 8.
public enum PresenceAccess: Sendable {
  /// No such user, or none that the viewer may notice: unknown, disabled, or blocking them (XEP-0191 3.3).
  case none
  /// The user exists, and does not share presence with the viewer.
  case known(User)
  /// The viewer sees the user's presence.
  case reads(User)
}

extension StoreReader {
  /// - Parameter jid: the viewer's address, which is compared with blocks.
  public func presenceAccess(to address: BareJID, for viewer: Party, at jid: JID) throws -> PresenceAccess {
    guard let user = try user(address), user.state == .active else { return .none }
    if user.id == viewer.id { return .reads(user) }
    if try blocks(of: user.id).contains(where: { $0.matches(jid) }) { return .none }
    guard try contact(of: user.id, viewer.address)?.subscription.from == true,
      // A viewer's roster is their own server's.
      try viewer.realm.isRemote || contact(of: viewer.id, address)?.subscription.to == true
    else { return .known(user) }
    return .reads(user)
  }

  /// Returns whether a user's account may be noticed by somebody who is no ordinary user here: from elsewhere, or a guest.
  /// They see the user's presence or show theirs, or the user has let them in at a node. To all others the account is to
  /// look as if it did not exist (RFC 6120 13.11).
  ///
  /// - Parameter jid: the viewer's address, which is compared with blocks.
  public func isNoticed(_ address: BareJID, by viewer: Party, at jid: JID) throws -> Bool {
    switch try presenceAccess(to: address, for: viewer, at: jid) {
    case .none: return false
    case .reads: return true
    case .known(let user):
      if let contact = try contact(of: user.id, viewer.address), contact.subscription.from || contact.subscription.to {
        return true
      }
      if try affiliations(of: viewer.address, with: user.id).contains(where: { $0.value != .outcast }) { return true }
      return try !subscriptions(of: viewer.address, with: user.id).isEmpty
    }
  }

  /// Returns whether the viewer may know when the user was last online (`UserSettings.lastSeen`).
  public func showsLastSeen(_ access: PresenceAccess, to viewer: Party) throws -> Bool {
    switch access {
    case .none: false
    case .known(let user): UserSettings.sees(try userSettings(of: user.id).lastSeen, false)
    case .reads(let user): try user.id == viewer.id || UserSettings.sees(userSettings(of: user.id).lastSeen, true)
    }
  }
}

extension Hub {
  /// Returns the sessions of an online user; `nil` if they are offline or do not share presence with the viewer. The
  /// decision is that of `StoreReader.presenceAccess`, without the store. A server sees what one of its users does: it
  /// asks clients for their capabilities in its own name (XEP-0115 6.2).
  public func sessions(of address: BareJID, seenBy viewer: JID) -> [OnlineSession]? {
    guard let user = user(at: address), let theirs = contactSnapshot(of: user) else { return nil }
    if address != viewer.bare {
      let isShown =
        viewer.local == nil
        ? theirs.own.remoteSubscribers[viewer.domain] != nil
        : theirs.contact(viewer.bare)?.subscription.from == true
      guard isShown, !theirs.blocks(viewer) else { return nil }
      // A viewer's roster is their own server's.
      if let own = self.user(at: viewer.bare).flatMap({ contactSnapshot(of: $0) }),
        own.contact(address)?.subscription.to != true
      {
        return nil
      }
    }
    return onlineSessions(of: user)
  }
}
