import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Translates a component's stanza to a post, a signal, or an answer: the counterpart of `Inbound` for another server.
/// The machine has checked that 'from' is of the component's domain.
enum ComponentInbound {
  static func received(_ stanza: Stanza, from link: ComponentLink, _ connection: ComponentConnection) {
    do throws(StanzaError) {
      try stanza.validate()
      guard let from = try stanza.from(), let to = try stanza.to() else { return }
      let arrival = Arrival(stanza: stanza, from: from, to: to, link: link, connection: connection)
      guard to.domain == link.home.domain else {
        return arrival.behindPosts { () throws(StanzaError) in
          if let target = service(arrival) { try handle(arrival, target) } else { try elsewhere(arrival) }
        }
      }
      switch stanza.kind {
      case .message: try message(arrival)
      case .presence: presence(arrival)
      case .iq: arrival.behindPosts { () throws(StanzaError) in try iq(arrival) }
      }
    } catch {
      connection.refuse(stanza, error)
    }
  }

  private struct Arrival {
    let stanza: Stanza
    let from: JID
    let to: JID
    let link: ComponentLink
    let connection: ComponentConnection
    var parley: Parley { connection.door.parley }
    var sender: Party { Party(remote: from.bare, realm: link.party.realm) }

    func relayed(_ name: RelayedStanza.Name, typing: Bool? = nil) -> RelayedStanza {
      RelayedStanza(
        name: name, from: sender, fromResource: from.resource, to: to.bare, toResource: to.resource, id: stanza.id,
        language: stanza.language, extras: extras, typing: typing)
    }

    /// The children without those that only this server may add.
    var extras: [UInt8] {
      stanza.extras(connection.loopContext) {
        StanzaIDs.isForged($0, domain: link.home.domain, sender: link.party.address.domain)
      }
    }

    /// Runs work behind the posts, so that stanzas keep their order.
    func behindPosts(_ body: @escaping () throws(StanzaError) -> Void) {
      connection.afterPosts {
        do throws(StanzaError) { try body() } catch { connection.refuse(stanza, error) }
      }
    }

    func pass(_ relayed: RelayedStanza) -> Bool {
      parley.hub.signal(
        .stanza(relayed), from: nil, party: relayed.from, to: .user(to.bare, resource: to.resource))
    }
  }

  /// Passes a stanza on to another component of this server.
  private static func elsewhere(_ arrival: Arrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard arrival.parley.remote(domain: arrival.to.domain, reachedFrom: arrival.link.home.id) != nil else {
      throw StanzaError(.remoteServerNotFound, "this server does not federate, and its rooms are for its own users")
    }
    let name: RelayedStanza.Name
    switch stanza.kind {
    case .message: name = .message(Envelope.MessageType(stanza.messageType))
    case .iq: name = .iq(stanza.element["type"] ?? "")
    case .presence: name = .presence(stanza.element["type"] ?? "")
    }
    if !arrival.pass(arrival.relayed(name)) { throw StanzaError(.serviceUnavailable) }
  }

  private static func message(_ arrival: Arrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard arrival.to.local != nil else {
      guard PrivilegedEntity.isForwarding(stanza) else { throw StanzaError(.serviceUnavailable) }
      return try PrivilegedEntity.message(stanza, from: arrival.from, arrival.link, arrival.connection)
    }
    let draft = try Inbound.draft(of: stanza, arrival.connection.door.table)
    let type = stanza.messageType
    if type == .chat || type == .normal, draft.isPosted {
      return arrival.connection.post(
        Inbound.post(
          stanza, draft, from: arrival.from.resource, to: arrival.to, extras: arrival.extras,
          arrival.connection.door.parley),
        by: arrival.sender, for: stanza)
    }
    // RFC 6121 8.5.2.1.1, 8.5.3.2.1: an undeliverable message bounces; headlines, errors and chat states do not.
    arrival.behindPosts { () throws(StanzaError) in
      let taken = arrival.pass(arrival.relayed(.message(Envelope.MessageType(type)), typing: draft.typing))
      if !taken, type != .error, type != .headline, draft.body != nil { throw StanzaError(.serviceUnavailable) }
    }
  }

  private static func presence(_ arrival: Arrival) {
    guard let type = arrival.stanza.presenceType, arrival.to.local != nil else { return }
    switch type {
    case .available, .unavailable:
      arrival.behindPosts {
        arrival.parley.hub.present(announced(arrival, isAvailable: type == .available), to: arrival.to.bare)
      }
    case .subscribe: subscription(.subscribe, arrival)
    case .subscribed: subscription(.subscribed, arrival)
    case .unsubscribe: subscription(.unsubscribe, arrival)
    case .unsubscribed: subscription(.unsubscribed, arrival)
    case .probe:
      arrival.behindPosts {
        arrival.parley.hub.answerProbe(
          from: arrival.from.bare, to: arrival.to.bare, time: arrival.parley.clock.now)
      }
    case .error: arrival.behindPosts { _ = arrival.pass(arrival.relayed(.presence("error"))) }
    }
  }

  private static func subscription(_ act: SubscriptionAct, _ arrival: Arrival) {
    let extras = arrival.extras
    arrival.connection.post(
      .subscription(act, to: arrival.to.bare, stanza: extras.isEmpty ? nil : extras), by: arrival.sender,
      for: arrival.stanza)
  }

  /// Returns the presence as an app shows it; clients get it as it came.
  private static func announced(_ arrival: Arrival, isAvailable: Bool) -> Presence {
    let element = arrival.stanza.element
    let availability: Presence.Availability =
      switch isAvailable ? element.first(.show)?.text : nil {
      case _ where !isAvailable: .offline
      case "chat": .chat
      case "away": .away
      case "xa": .extendedAway
      case "dnd": .doNotDisturb
      default: .online
      }
    return Presence(
      from: arrival.sender, resource: arrival.from.resource ?? "", availability: availability,
      status: element.first(.status)?.text, priority: element.first(.priority).flatMap { Int8($0.text) } ?? 0,
      id: arrival.stanza.id, toResource: arrival.to.resource, extras: arrival.extras, time: arrival.parley.clock.now)
  }

  // MARK: IQs

  /// The requests about the server that anyone may make. All others are for its own users.
  private static let told: [Name] = [
    .discoInfo, .discoItems, .ping, EntityTime.time, LastActivity.query, SoftwareVersion.query,
  ]

  private static func iq(_ arrival: Arrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard let type = stanza.iqType else { return }
    // XEP-0356 6.3: only to a user's account, never to a client.
    if type.isRequest, stanza.payload?.is(PrivilegedEntity.request) == true,
      !arrival.to.isBare || arrival.to.local == nil
    {
      throw StanzaError(.forbidden)
    }
    let target: FeatureTable.Target
    if arrival.to.local == nil {
      target = .server
    } else if arrival.to.isBare {
      target = .user
    } else {
      target = .session
      if !isApp(arrival) {
        if type == .get, let payload = stanza.payload,
          !LastActivity.mayPass(payload, from: arrival.from, to: arrival.to.bare, arrival.parley.hub)
        {
          throw StanzaError(.forbidden)
        }
        let taken = arrival.pass(arrival.relayed(.iq(String(describing: type.text))))
        if !taken, type.isRequest { throw StanzaError(.serviceUnavailable) }
        return
      }
    }
    guard type.isRequest else {
      _ = arrival.connection.door.questions.answered(stanza, from: arrival.from)
      return
    }
    try handle(arrival, target)
  }

  /// Answers a request, or passes it to the component that the namespace is delegated to.
  private static func handle(_ arrival: Arrival, _ target: FeatureTable.Target) throws(StanzaError) {
    let stanza = arrival.stanza
    guard let payload = stanza.payload, let type = stanza.iqType,
      let impersonated = try? ImpersonatedSession(
        asker: arrival.from, realm: arrival.link.party.realm, at: arrival.link)
    else { throw StanzaError(.serviceUnavailable) }
    ImpersonatedSession.handle(stanza, to: arrival.to, as: impersonated, arrival.connection) {
      (turn) throws(StanzaError) in
      if NamespaceDelegation.pass(turn, payload, target) { return }
      guard target == .user || target == .session || (type == .get && told.contains { payload.is($0) }),
        let handler = arrival.connection.door.table.iqHandler(payload, isSet: type == .set, target: target)
      else { throw StanzaError(.serviceUnavailable) }
      try handler(turn, payload)
    }
  }

  /// Returns the target of a disco#info request to a service of the domain: gateways look for the upload service.
  private static func service(_ arrival: Arrival) -> FeatureTable.Target? {
    guard arrival.to.isDomain, arrival.stanza.iqType == .get, arrival.stanza.payload?.is(.discoInfo) == true else {
      return nil
    }
    if arrival.to.domain == arrival.link.home.rooms { return .rooms }
    let uploads = arrival.connection.door.options.uploads[arrival.link.home.domain]
    return arrival.to.domain == uploads ? .uploads : nil
  }

  /// Returns whether the addressee is an app's session, which speaks no XMPP: the server answers for it.
  private static func isApp(_ arrival: Arrival) -> Bool {
    guard let user = arrival.parley.hub.user(at: arrival.to.bare) else { return false }
    return arrival.parley.hub.onlineSessions(of: user).contains {
      $0.door == .app && $0.resource == arrival.to.resource
    }
  }
}

extension Envelope.MessageType {
  init(_ type: MessageType) {
    self =
      switch type {
      case .normal: .normal
      case .chat: .chat
      case .groupchat: .groupchat
      case .headline: .headline
      case .error: .error
      }
  }
}
