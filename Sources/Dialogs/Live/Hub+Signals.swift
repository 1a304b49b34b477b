public import Addresses
import Basics

/// Signals are stanzas and events that no log keeps: they are relayed to whoever may hear them.
extension Hub {
  /// Relays a signal. Returns `false` if no session could take it (RFC 6121 8.5: then the caller refuses an IQ, or
  /// bounces a message).
  @discardableResult
  public func signal(_ signal: Signal, from session: (any LiveSession)?, party: Party, to target: SignalTarget) -> Bool
  {
    guard mayPass(signal, from: party, to: target) else { return false }
    var batch = LaneBatch()
    let taken = route(signal, from: session?.id, party: party, to: target, into: &batch)
    batch.send()
    return taken
  }

  /// Returns whether the party may send the signal: guests cannot send relayed stanzas to users, except IQ results and
  /// errors.
  private func mayPass(_ signal: Signal, from party: Party, to target: SignalTarget) -> Bool {
    guard case .user(let address, _) = target, address != party.address, !guests.may(.messages, party.id) else {
      return true
    }
    if case .stanza(let stanza) = signal, case .iq(let type) = stanza.name {
      return type == "result" || type == "error"
    }
    return false
  }

  func route(
    _ signal: Signal, from session: SessionID?, party: Party, to target: SignalTarget, into batch: inout LaneBatch
  ) -> Bool {
    guard case .stanza(let stanza) = signal, let isTyping = stanza.typing, case .user(let address, _) = target else {
      return relay(signal, from: session, party: party, to: target, into: &batch)
    }
    switch note(stanza, isTyping, to: address) {
    case .everyone:
      let taken = relay(signal, from: session, party: party, to: target, into: &batch)
      // Who has blocked the author meanwhile may have seen the beginning.
      if !taken, !isTyping { tellApps(stanza, of: address, into: &batch) }
      return taken
    case .clients:
      return relay(.stanza(stanza.withoutTyping()), from: session, party: party, to: target, into: &batch)
    case .apps:
      let other = online(at: address, near: party)
      if let other, hears(other.contactSnapshot, stanza, from: party) { tellApps(stanza, of: address, into: &batch) }
      return true
    case .no: return true
    }
  }

  private func relay(
    _ signal: Signal, from session: SessionID?, party: Party, to target: SignalTarget, into batch: inout LaneBatch
  ) -> Bool {
    var taken = false
    switch target {
    case .subscribers: return tellSubscribers(signal, from: session, of: party, into: &batch)
    case .user(let address, let resource):
      let other = online(at: address, near: party)
      if other == nil, let link = link(from: party, to: address) {
        batch.add(.signal(signal, .direct), to: link)
        if case .stanza(let stanza) = signal { copy(stanza, session, into: &batch) }
        return true
      }
      if let other, case .stanza(let stanza) = signal {
        if !hears(other.contactSnapshot, stanza, from: party) { return false }
      } else if let other, shuns(other.contactSnapshot, JID(party.address)) {
        return false
      }
      guard case .stanza(let stanza) = signal else {
        for onlineSession in other?.onlineSessions ?? [] {
          // For one device.
          if case .call(let call) = signal {
            if onlineSession.resource != resource || (onlineSession.door == .app) != call.isForApp { continue }
          }
          // For one device of an app.
          if case .profile = signal, onlineSession.door != .app || onlineSession.resource != resource { continue }
          batch.add(.signal(signal, .direct), to: onlineSession.session)
          taken = true
        }
        return taken
      }
      switch stanza.name {
      case .iq:
        guard let resource,
          let onlineSession = other?.onlineSessions.first(where: { $0.door == .xmpp && $0.resource == resource })
        else { return false }
        batch.add(.signal(signal, .direct), to: onlineSession.session)
        taken = true
      case .presence:
        for onlineSession in other?.onlineSessions ?? [] where onlineSession.door == .xmpp {
          guard resource.map({ $0 == onlineSession.resource }) ?? onlineSession.isAvailable else { continue }
          batch.add(.signal(signal, .direct), to: onlineSession.session)
          taken = true
        }
      case .message(let type):
        let kind = Routing.Kind(type)
        let copies = !stanza.isPrivate && kind == .conversation
        Routing.recipients(
          other?.onlineSessions ?? [], resource: resource, kind: kind, copies: copies, except: session
        ) { receiver, form in
          batch.add(.signal(signal, form), to: receiver)
          taken = true
        }
        if address != party.address { copy(stanza, session, into: &batch) }
      }
    }
    return taken
  }

  /// Sends a signal to everyone who may see the author's presence, and to the author's other sessions.
  ///
  /// - Parameter contactSnapshot: the author's, if they are not online, as a profile can change without a session.
  /// - Returns: `false` if there is no recipient.
  @discardableResult
  func tellSubscribers(
    _ signal: Signal, from session: SessionID?, of party: Party, contactSnapshot: ContactSnapshot? = nil,
    into batch: inout LaneBatch
  ) -> Bool {
    guard let contactSnapshot = self.contactSnapshot(of: party.id) ?? contactSnapshot else { return false }
    var taken = false
    let subscribers = contactSnapshot.subscribers + [party.id]
    batch.spread(.user(party.id), to: subscribers.count) { batch in
      for user in subscribers {
        guard let other = online(user), user == party.id || !areApart(contactSnapshot, other.contactSnapshot) else {
          continue
        }
        for onlineSession in other.onlineSessions where onlineSession.session.id != session {
          batch.add(.signal(signal, .direct), to: onlineSession.session)
          taken = true
        }
      }
    }
    return taken
  }

  // MARK: Typing

  /// Records a chat state in a private dialog; that of an XMPP client only if there is an app session to show it.
  private func note(_ stanza: RelayedStanza, _ isTyping: Bool, to address: BareJID) -> Typing.Audience {
    if !stanza.isTypingOfApp {
      let isShown = isTyping ? !appSessions(at: address, near: stanza.from).isEmpty : !typing.isEmpty
      if !isShown { return .everyone }
    }
    return typing.note(stanza, isTyping, at: .user(address), now: clock.now)
  }

  private func appSessions(at address: BareJID, near party: Party) -> [OnlineSession] {
    online(at: address, near: party)?.onlineSessions.filter { $0.door == .app } ?? []
  }

  private func tellApps(_ stanza: RelayedStanza, of address: BareJID, into batch: inout LaneBatch) {
    for onlineSession in appSessions(at: address, near: stanza.from) {
      batch.add(.signal(.stanza(stanza), .feed), to: onlineSession.session)
    }
  }

  /// Ends a user's typing in private dialogs that a session began.
  func endTyping(of author: BareJID, resource: String) {
    if typing.isEmpty { return }
    var batch = LaneBatch()
    for record in typing.take(of: author, resource: resource) { end(record, into: &batch) }
    batch.send()
  }

  /// Tells the other user of a private dialog that typing has ended, as far as it is the core's to tell (`Typing`).
  func end(_ record: Typing.Record, into batch: inout LaneBatch) {
    guard case .user(let address) = record.place else { return }
    let ended = record.ended
    let target = SignalTarget.user(address, resource: nil)
    if record.isOfApp, relay(.stanza(ended), from: nil, party: ended.from, to: target, into: &batch) { return }
    // Who has blocked the author meanwhile has seen the beginning.
    tellApps(ended, of: address, into: &batch)
  }

  /// Copies a relayed message to the author's other sessions.
  private func copy(_ stanza: RelayedStanza, _ session: SessionID?, into batch: inout LaneBatch) {
    guard case .message(let type) = stanza.name, !stanza.isPrivate, Routing.Kind(type) == .conversation else { return }
    Routing.copies(onlineSessions(of: stanza.from.id), copies: true, except: session) { receiver, form in
      // App sessions are not told what their own user does elsewhere.
      if form == .carbonSent { batch.add(.signal(.stanza(stanza), form), to: receiver) }
    }
  }

  // MARK: Hearing

  func shuns(_ contactSnapshot: ContactSnapshot, _ jid: JID) -> Bool {
    !contactSnapshot.blocks.isEmpty && contactSnapshot.blocks(jid)
  }

  /// Returns whether a user takes a stanza: its author is not blocked, and may write to them (`MessagesFrom`, and
  /// `StrangerPolicy.refuse`) if it is a message.
  func hears(_ contactSnapshot: ContactSnapshot, _ stanza: RelayedStanza, from party: Party) -> Bool {
    if !contactSnapshot.blocks.isEmpty, contactSnapshot.blocks(sender(of: stanza, party)) { return false }
    guard case .message(let type) = stanza.name, type != .error, type != .groupchat,
      contactSnapshot.messagesFrom != .everybody
        || realms.isFederated(party.realm) && federation?.strangers == .refuse,
      // Services that the user has subscribed to are in no roster.
      party.address.local != nil, party.address != contactSnapshot.user.address
    else { return true }
    return contactSnapshot.hasInRoster(party.address)
  }

  /// Returns whether a user who is online hears somebody who has begun a dialog with them (`MessagesFrom`).
  func isHeard(_ author: Party, by user: UserID) -> Bool {
    guard let contactSnapshot = contactSnapshot(of: user) else { return false }
    return contactSnapshot.messagesFrom == .everybody || contactSnapshot.hasInRoster(author.address)
  }

  /// Returns the address that a block must match: the whole one, so that it may be of one occupant of a room, or the
  /// room's for what is said to all of it, as in rooms of this server.
  private func sender(of stanza: RelayedStanza, _ party: Party) -> JID {
    let address = party.address
    if case .message(.groupchat) = stanza.name { return JID(address) }
    return address.jid(normal: stanza.fromResource)
  }

  /// Returns whether a message of somebody elsewhere that is stored nowhere may reach a user who is online: strangers
  /// are heard within the bounds of conversations, which only stored messages have. Whomever the user shows their presence
  /// is no stranger, such as a room in which they are.
  public func mayBeHeardUnstored(_ author: Party, by address: BareJID) -> Bool {
    guard realms.isFederated(author.realm), let federation, federation.strangers != .allow else { return true }
    guard let other = online(at: address, near: author) else { return true }
    return other.contactSnapshot.hasInRoster(author.address)
      || other.onlineSessions.contains { $0.directed.addresses.contains(author.address) }
  }

  /// Returns whether one of them blocks the other.
  func areApart(_ one: ContactSnapshot, _ other: ContactSnapshot) -> Bool {
    shuns(one, JID(other.user.address)) || shuns(other, JID(one.user.address))
  }
}
