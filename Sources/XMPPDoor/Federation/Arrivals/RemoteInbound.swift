import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// Translates a stanza that comes by a link to a post, a signal, or an answer: the counterpart of `Inbound` for users of
/// other servers and of components. The owner of the link has checked that 'from' is of its domain.
enum RemoteInbound {
  static func received(_ stanza: Stanza, from link: any RemoteLink) {
    guard let traces = link.door.parley.traces else { return handle(stanza, from: link) }
    traces.receiving("remote \(stanza.kind)", stanza: stanza.id) { handle(stanza, from: link) }
  }

  private static func handle(_ stanza: Stanza, from link: any RemoteLink) {
    do throws(StanzaError) {
      try stanza.validate()
      guard let from = try stanza.from(), let to = try stanza.to() else { return }
      let arrival = RemoteArrival(stanza: stanza, from: from, to: to, link: link)
      guard link.speaksFor(to.domain) else { throw StanzaError(.remoteServerNotFound, "this server does not federate") }
      guard to.domain == link.home.domain else {
        return arrival.behindPosts { () throws(StanzaError) in try service(arrival) }
      }
      switch stanza.kind {
      case .message: try message(arrival)
      case .presence: presence(arrival)
      case .iq:
        guard to.local == nil || to.isBare || isApp(arrival) else { return try pass(arrival) }
        arrival.behindPosts { () throws(StanzaError) in try iq(arrival) }
      }
    } catch {
      link.refuse(stanza, error)
    }
  }

  /// Handles a stanza to one of this server's domains for services.
  private static func service(_ arrival: RemoteArrival) throws(StanzaError) {
    let (link, to) = (arrival.link, arrival.to)
    if to.domain == link.home.rooms {
      guard let work = link.work else { return }
      return try RemoteRooms.received(arrival, work)
    }
    if link.door.options.components[to.domain] != nil { return try arrival.passOn() }
    // Only local users may use services; everybody may ask for their features.
    let target: FeatureTable.Target = link.door.options.uploads[link.home.domain] == to.domain ? .uploads : .pubsub
    guard to.isDomain, arrival.stanza.iqType == .get, arrival.stanza.payload?.is(.discoInfo) == true else {
      throw StanzaError(.serviceUnavailable)
    }
    answer(arrival, target, as: arrival.sender)
  }

  private static func message(_ arrival: RemoteArrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard arrival.to.local != nil else {
      let lists = (arrival.link as? FederationLink)?.federation.blocklists
      if lists?.received(stanza, from: arrival.from) == true || Reporting.received(arrival) { return }
      throw StanzaError(.serviceUnavailable)
    }
    if RemoteProfiles.handle(arrival) { return }
    EmbeddedAffiliation.note(arrival, in: .message)
    var draft = try Inbound.draft(of: stanza, arrival.link.door.table)
    draft.roomElsewhere = RoomElsewhere(stanza, from: arrival.from)
    // XEP-0280 6.1: the room sends it to each client of the user that is in the room.
    if draft.roomElsewhere == .whisper { draft.isUncopied = true }
    let type = stanza.messageType
    if let call = draft.call, call.act == .finish { RemoteCalls.finished(call.name, arrival) }
    let isWhisper = draft.roomElsewhere == .whisper
    if type == .chat || type == .normal, draft.isPosted {
      let intent = Inbound.post(
        stanza, draft, from: arrival.from.resource, to: arrival.to, extras: arrival.extras, repeated: arrival.repeated,
        links: arrival.link.door.parley.blobs?.policy.links)
      guard isWhisper else { return arrival.link.post(intent, by: arrival.sender, for: stanza) }
      arrival.link.work?.post(intent, by: arrival.sender, for: stanza) { result in
        if case .failure(let problem) = result { refuseWhisper(arrival, StanzaError(problem), code: problem.code) }
      }
      return
    }
    if type != .error, type != .groupchat, draft.body != nil || !isSilent(stanza.element),
      !arrival.parley.hub.mayBeHeardUnstored(arrival.sender, by: arrival.to.bare)
    {
      if isWhisper { return refuseWhisper(arrival, StanzaError(.serviceUnavailable)) }
      throw StanzaError(.serviceUnavailable)
    }
    // Queued behind earlier posts, to keep the order of one user's messages to another (RFC 6120 10.1). RFC 6121
    // 8.5.2.1.1, 8.5.3.2.1: an undeliverable one bounces; headlines, errors and chat states do not.
    let relayed = arrival.relayed(.message(Envelope.MessageType(type)), typing: draft.typing)
    let bounces = type != .error && type != .headline && draft.body != nil
    arrival.link.work?.post(
      .signal(.stanza(relayed), to: .user(arrival.to.bare, resource: arrival.to.resource)), by: arrival.sender,
      for: stanza
    ) { result in
      switch result {
      case .failure(let problem): arrival.link.refuse(stanza, problem)
      case .success(let receipt) where receipt.isRepeat && bounces:
        if isWhisper { return refuseWhisper(arrival, StanzaError(.serviceUnavailable)) }
        arrival.link.refuse(stanza, StanzaError(.serviceUnavailable))
      case .success: break
      }
    }
  }

  /// The namespaces of payloads that no client shows as a message: states, receipts, hints, and events with the headers
  /// that services add to them (XEP-0060 7.1.2.4).
  private static let silentNamespaces: Set<String> = [
    "\(NS.chatStates)", "\(NS.receipts)", "\(NS.markers)", "\(NS.hints)", "\(NS.pubsubEvent)",
    "http://jabber.org/protocol/shim",
  ]
  /// Other children that no client shows: answers that a client has asked for, and parts of every message.
  private static let silent: [Name] = [
    Archive.result, Name("private", NS.carbons), .thread, .delay, .stanzaID, .originID, .occupantID,
    AccountAffiliations.info,
  ]

  /// Returns whether a message has only such children. Strangers may send it even if they may not write: remote rooms
  /// notify absent users of affiliations (XEP-0045 9), and nodes notify their subscribers (XEP-0060 7.1.2).
  private static func isSilent(_ message: Element) -> Bool {
    message.children.allSatisfy { child in
      silentNamespaces.contains(child.namespace) || silent.contains { child.is($0) }
        || child.is(.mucUser) && !StanzaIDs.isInvitation(child)
    }
  }

  /// Refuses a private message of a remote room. If the addressee has blocked its author, or refuses strangers, nothing
  /// is answered: the room would interpret `service-unavailable` as a sign that the occupant is gone, and remove them
  /// (XEP-0045 17.3).
  private static func refuseWhisper(_ arrival: RemoteArrival, _ error: StanzaError, code: String? = nil) {
    let hub = arrival.parley.hub
    if error.condition == .serviceUnavailable, let user = hub.user(at: arrival.to.bare),
      hub.onlineSessions(of: user).contains(where: { $0.door == .xmpp && $0.resource == arrival.to.resource })
    {
      return
    }
    arrival.link.refuse(arrival.stanza, error, code: code)
  }

  private static func presence(_ arrival: RemoteArrival) {
    guard let type = arrival.stanza.presenceType, arrival.to.local != nil else { return }
    switch type {
    case .available, .unavailable:
      let presence = announced(arrival, isAvailable: type == .available)
      let hub = arrival.parley.hub
      arrival.inOrder(.shown(presence, to: [arrival.to.bare])) {
        hub.present(presence, to: arrival.to.bare)
      } then: { isKept in
        if isKept { RemoteInterests.announced(arrival) }
        if type == .available, arrival.to.isBare { RemoteCards.announced(arrival) }
      }
    case .subscribe:
      EmbeddedAffiliation.note(arrival, in: .subscription)
      subscription(.subscribe, arrival)
    case .subscribed: subscription(.subscribed, arrival)
    case .unsubscribe: subscription(.unsubscribe, arrival)
    case .unsubscribed: subscription(.unsubscribed, arrival)
    case .probe:
      arrival.behindPosts {
        arrival.parley.hub.answerProbe(
          from: arrival.from.bare, to: arrival.to.bare, time: arrival.parley.clock.now)
      }
    case .error:
      let relayed = arrival.relayed(.presence("error"))
      arrival.inOrder(.stanza(relayed)) {
        arrival.pass(relayed)
      } then: { _ in
      }
    }
  }

  private static func subscription(_ act: SubscriptionAct, _ arrival: RemoteArrival) {
    let extras = Inbound.subscription(arrival.stanza, arrival.link.loopContext) {
      StanzaIDs.isForged($0, sender: arrival.from.domain, arrival.link.door)
    }
    arrival.link.post(
      .subscription(act, to: arrival.to.bare, stanza: extras.isEmpty ? nil : extras), by: arrival.sender,
      for: arrival.stanza)
  }

  /// Returns the presence as an app shows it; clients get it as it came.
  private static func announced(_ arrival: RemoteArrival, isAvailable: Bool) -> Presence {
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
      id: arrival.stanza.id, toResource: arrival.to.resource, language: arrival.stanza.language,
      extras: arrival.extras, time: arrival.parley.clock.now)
  }

  // MARK: IQs

  /// The requests about the server that anyone may make. All others are for its own users.
  private static let publicRequests: [Name] = [
    .discoInfo, .discoItems, .ping, EntityTime.time, LastActivity.query, SoftwareVersion.query,
  ]

  /// Passes an IQ on to a client (RFC 6121 8.5.3).
  private static func pass(_ arrival: RemoteArrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard let type = stanza.iqType else { return }
    if type.isRequest, let payload = stanza.payload {
      // XEP-0356 6.3: only to a user's account.
      if payload.is(PrivilegedEntity.request) { throw StanzaError(.forbidden) }
      if type == .get, !LastActivity.mayPass(payload, from: arrival.from, to: arrival.to.bare, arrival.parley.hub) {
        throw StanzaError(.forbidden)
      }
    }
    let relayed = arrival.relayed(.iq(String(describing: type.text)))
    arrival.inOrder(.stanza(relayed)) {
      arrival.pass(relayed)
    } then: { isTaken in
      if !isTaken, type.isRequest { arrival.link.refuse(stanza, StanzaError(.serviceUnavailable)) }
    }
  }

  private static func iq(_ arrival: RemoteArrival) throws(StanzaError) {
    let stanza = arrival.stanza
    guard let type = stanza.iqType else { return }
    // XEP-0356 6.3: only to a user's account, never to a client.
    if type.isRequest, stanza.payload?.is(PrivilegedEntity.request) == true,
      !arrival.to.isBare || arrival.to.local == nil
    {
      throw StanzaError(.forbidden)
    }
    let target: FeatureTable.Target = arrival.to.local == nil ? .server : arrival.to.isBare ? .user : .session
    if target == .session, try RemoteCalls.received(arrival) { return }
    guard type.isRequest else {
      _ = arrival.link.door.questions.answered(stanza, from: arrival.from)
      return
    }
    answer(arrival, target, as: arrival.sender)
  }

  /// Answers a request, or passes it to the component that the namespace is delegated to.
  ///
  /// - Parameter party: the identity of the requester.
  static func answer(_ arrival: RemoteArrival, _ target: FeatureTable.Target, as party: Party) {
    let (stanza, link) = (arrival.stanza, arrival.link)
    guard let payload = stanza.payload, let type = stanza.iqType,
      let impersonated = try? ImpersonatedSession(asker: arrival.from, party, at: link)
    else { return link.refuse(stanza, StanzaError(.serviceUnavailable)) }
    ImpersonatedSession.handle(stanza, to: arrival.to, as: impersonated) { (turn) throws(StanzaError) in
      if NamespaceDelegation.pass(turn, payload, target) { return }
      guard target != .server || (type == .get && publicRequests.contains { payload.is($0) }),
        let handler = link.door.table.iqHandler(payload, isSet: type == .set, target: target)
      else { throw StanzaError(.serviceUnavailable) }
      if target == .user { return try turn.handleForUser(payload, handler) }
      try handler(turn, payload)
    }
  }

  /// Returns whether the addressee is an app's session, which speaks no XMPP: the server answers for it.
  private static func isApp(_ arrival: RemoteArrival) -> Bool {
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
