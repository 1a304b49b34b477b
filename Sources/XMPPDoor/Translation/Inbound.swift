import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Translates a client's stanza to a post, a signal, or an answer. A stanza becomes at most one entry, with its whole
/// payload; features only add effects.
enum Inbound {
  // MARK: Messages

  static func message(_ turn: Turn) throws(StanzaError) {
    let session = turn.session
    let stanza = turn.stanza
    // RFC 6121 8.1: without an address it is for the account itself.
    let to = turn.to ?? JID(session.party.address)
    let type = stanza.messageType
    guard to.local != nil || session.isRooms(to.domain) || session.isRemote(to.domain) else {
      session.management.handledUnlessPost()
      if type == .error { return }
      guard session.isPubsub(to), let answer = try draft(of: stanza, session.door.table).answer else {
        throw elsewhere(to, session)
      }
      return PEP.answer(turn, answer)
    }
    if isElsewhere(to, session) {
      if session.isRooms(to.domain) { return try RoomInbound.message(turn, to) }
      session.management.handledUnlessPost()
      if type == .error { return }
      throw elsewhere(to, session)
    }
    var draft = try draft(of: stanza, session.door.table)
    if let answer = draft.answer, type != .error, to == JID(session.party.address) {
      session.management.handledUnlessPost()
      return PEP.answer(turn, answer)
    }
    // Without the invitation nothing would be left. One that names the room itself is the user's own (XEP-0249).
    if draft.isInvitation, type != .error, !session.isRemote(to.domain), draft.body == nil,
      stanza.element.first(.conference) == nil
    {
      session.management.handledUnlessPost()
      throw StanzaError(.notAcceptable, "an invitation is sent to the room, which passes it on (XEP-0045 7.8.2)")
    }
    switch type {
    case .error:
      session.management.handledUnlessPost()
      return relay(turn, to, draft)
    case .groupchat:
      session.management.handledUnlessPost()
      // A room on another server.
      if session.isRemote(to.domain) { return relay(turn, to, draft) }
      throw StanzaError(.serviceUnavailable, "there is no room at this address")
    // Call messages always go through the callee's settings.
    case .headline where draft.call == nil:
      session.management.handledUnlessPost()
      return relay(turn, to, draft)
    case .headline, .chat, .normal: break
    }
    // Behind the message, whatever its outcome.
    defer { DisplayedSync.assist(draft, in: to, turn) }
    guard draft.isPosted else {
      session.management.handledUnlessPost()
      return relay(turn, to, draft)
    }
    if session.isRemote(to.domain), RoomElsewhere.isWhisper(stanza, with: to) { draft.roomElsewhere = .whisper }
    post(turn, draft, to)
  }

  /// Posts a message that becomes an entry.
  private static func post(_ turn: Turn, _ draft: Draft, _ to: JID) {
    let (session, stanza) = (turn.session, turn.stanza)
    if let call = draft.call, call.act == .finish { JingleSessions.forget(call.name, with: to.bare, session) }
    let intent = post(
      stanza, draft, from: session.jid.resource, to: to, extras: extras(of: stanza, session),
      links: session.parley.blobs?.policy.links)
    session.post(intent, numbered: true) { result in
      if case .failure(let problem) = result { turn.fail(problem) }
    }
  }

  /// Returns the draft of a message, as its children describe it.
  static func draft(of stanza: Stanza, _ table: FeatureTable) throws(StanzaError) -> Draft {
    try draft(of: stanza.element, table)
  }

  /// Returns the draft of a message with these children.
  static func draft(of message: Element, _ table: FeatureTable) throws(StanzaError) -> Draft {
    var draft = Draft()
    for child in message.children {
      if child.is(.body) {
        if draft.body == nil || child.language == nil { draft.body = child.text }
      } else {
        try table.read(child, into: &draft)
      }
    }
    return draft
  }

  /// Returns the post of a message or marker of type chat or normal.
  ///
  /// - Parameters:
  ///   - repeated: The part of `extras` that is the same when the message is sent again; `nil` for all of it.
  ///   - links: The links of the files of this server, which the message then names; `nil` for none.
  static func post(
    _ stanza: Stanza, _ draft: Draft, from resource: String?, to: JID, extras: [UInt8], repeated: [UInt8]? = nil,
    links: BlobLinks?
  ) -> Intent {
    let id = stanza.id
    let envelope = Envelope(
      type: stanza.messageType == .chat ? .chat : .normal, fromResource: resource, toResource: to.resource, id: id,
      language: stanza.language)
    var traits: Message.Traits = draft.isTransient ? [.transient] : [.archived]
    if draft.isUncopied { traits.insert(.uncopied) }
    if draft.isMarkable { traits.insert(.markable) }
    if draft.wantsReceipt { traits.insert(.receipted) }
    if draft.call?.act == .ring { traits.insert(.rings) }
    var content = draft.content(extras, links)
    switch draft.roomElsewhere {
    case nil:
      // XEP-0160 3: what apps do not show is for clients that were away as well, such as invitations and reactions.
      if content.kind != .none {
        traits.formUnion([.counts, .replayed])
      } else if draft.isSaid, !draft.isMomentary {
        traits.insert(.replayed)
      }
    // An app would show what all occupants of the room say as one person's dialog.
    case .whisper: content = Content(kind: .none, extras: extras)
    case .invitation(let fields):
      content = Content(kind: .invitation, fields: fields, extras: extras)
      traits.insert(.replayed)
    }

    if let marker = draft.marker, !draft.isSaid {
      if marker.kind == .delivered, !draft.isStored { traits.remove(.archived) }
      return .marker(
        MarkerDraft(
          with: to.bare, kind: marker.kind, target: .stanza(marker.id), stanza: (content, envelope, traits)))
    }

    var key: RepeatKey?
    if let id = draft.originID ?? id, id.utf8.count <= Limits.stanzaIDBytesMax {
      var digest = Digest64()
      (repeated ?? extras).withUnsafeBytes { digest.combine($0) }
      key = RepeatKey(rule: .xmpp, id: id, bodyHash: digest.finish())
    }
    let message = MessageDraft(
      to: to.bare, content: content, envelope: envelope, traits: traits, key: key, reference: draft.reference,
      mentions: draft.textMentions)
    if let call = draft.call {
      return .call(
        .said(CallStanza(message: message, name: call.name, act: call.act, kind: call.kind, reason: call.reason)))
    }
    return .message(message)
  }

  /// Returns the children as they will be written again, without those that only a server may add.
  ///
  /// - Parameter rooms: the domain of the room to whose occupants the stanza is; `nil` if it is to a user.
  static func extras(of stanza: Stanza, _ session: XMPPSession, rooms: String? = nil) -> [UInt8] {
    var writer = session.loopContext.takeWriter()
    let domain = session.jid.bare.domain
    writer.children(of: stanza.element) { session.strips($0, domain, rooms: rooms) }
    let bytes = Array(writer.buffer.readableBytesView)
    session.loopContext.give(writer)
    return bytes
  }

  /// Passes a stanza on without storing it: chat states, headlines, unstored messages, errors. A headline that no
  /// session takes is silently ignored (RFC 6121 8.5.2.2.1).
  private static func relay(_ turn: Turn, _ to: JID, _ draft: Draft) {
    let session = turn.session
    let stanza = turn.stanza
    let type = Envelope.MessageType(stanza.messageType)
    if type != .error, let contactSnapshot = session.contactSnapshot, !contactSnapshot.blocks.isEmpty,
      contactSnapshot.blocks(to)
    {
      return turn.fail(Problem(.blocked, "you-block-this-user", "You have blocked this user."))
    }
    let relayed = RelayedStanza(
      name: .message(type), from: session.party, fromResource: session.jid.resource, to: to.bare,
      toResource: to.resource, id: stanza.id, language: stanza.language, extras: extras(of: stanza, session),
      typing: draft.typing, custom: draft.custom, isPrivate: draft.isUncopied)
    signal(
      turn, .stanza(relayed), to,
      bounces: (draft.body != nil && type != .error && type != .headline) || type == .groupchat,
      isAsked: type != .error && session.parley.asksBeforeMessages
        && BeforeSendRewriting.shown(Content(kind: .none, extras: relayed.extras), of: stanza.element, draft) != nil)
  }

  /// Sends a signal in its place between the session's own posts: none overtakes the other (RFC 6120 10.1). Those of
  /// guests, who may send few signals, wait for the posts.
  ///
  /// - Parameter isAsked: whether a backend is asked about it (`Intent.speech`), which it is about posts alone.
  private static func signal(_ turn: Turn, _ signal: Signal, _ to: JID, bounces: Bool, isAsked: Bool = false) {
    let session = turn.session
    let target = SignalTarget.user(to.bare, resource: to.resource)
    if isAsked || session.isPosting && !session.parley.isGuest(session.party.id) {
      return session.post(.signal(signal, to: target)) { result in
        switch result {
        case .failure(let problem): if bounces || isAsked { turn.fail(problem) }
        case .success(let receipt): if bounces, receipt.isRepeat { turn.fail(StanzaError(.serviceUnavailable)) }
        }
      }
    }
    session.afterPosts {
      if let problem = session.parley.hub.problem(reaching: to.bare, by: session.party) {
        if bounces { turn.fail(problem) }
        return
      }
      let taken = session.parley.hub.signal(signal, from: session.handle, party: session.party, to: target)
      if !taken && bounces { turn.fail(StanzaError(.serviceUnavailable)) }
    }
  }

  /// Returns whether an address belongs to another realm, which is another server even if this process serves it.
  private static func isElsewhere(_ to: JID, _ session: XMPPSession) -> Bool {
    to.domain != session.party.address.domain && !session.isRemote(to.domain)
  }

  private static func elsewhere(_ to: JID, _ session: XMPPSession) -> StanzaError {
    if !isElsewhere(to, session) { return StanzaError(.serviceUnavailable) }
    let domains = session.door.options.domains
    if domains.contains(where: { to.domain.hasSuffix(".\($0)") }) { return StanzaError(.serviceUnavailable) }
    return StanzaError(.remoteServerNotFound, "this server does not federate")
  }

  // MARK: Presence

  static func presence(_ turn: Turn) throws(StanzaError) {
    switch turn.stanza.presenceType {
    case .available: try available(turn, true)
    case .unavailable: try available(turn, false)
    case .subscribe: try subscribe(turn, .subscribe)
    case .subscribed: try subscribe(turn, .subscribed)
    case .unsubscribe: try subscribe(turn, .unsubscribe)
    case .unsubscribed: try subscribe(turn, .unsubscribed)
    case .probe: probe(turn)
    case .error: presenceError(turn)
    case nil: return
    }
  }

  /// Takes a presence that says whether the client is available: to a room, to one address, or to all who may see it.
  private static func available(_ turn: Turn, _ isAvailable: Bool) throws(StanzaError) {
    let session = turn.session
    let stanza = turn.stanza
    if let to = turn.to, isElsewhere(to, session) {
      if session.isRooms(to.domain) { return try RoomInbound.presence(turn, to, isAvailable: isAvailable) }
      if isAvailable { throw elsewhere(to, session) }
      return
    }
    session.afterPosts {
      // Not earlier: a vCard set just ahead of it changes the avatar hash.
      let presence: Presence
      do throws(StanzaError) {
        presence = try typed(turn, isAvailable: isAvailable)
      } catch {
        return turn.fail(error)
      }
      if let to = turn.to, !(to.isBare && to.bare == session.party.address) {
        if let problem = session.parley.hub.problem(reaching: to.bare, by: session.party) {
          return turn.fail(problem)
        }
        if let nick = to.resource, session.isRemote(to.domain) {
          session.roomsElsewhere.sent(isAvailable: isAvailable, to: to.bare, nick: nick)
        }
        session.parley.hub.direct(presence, of: session.handle, to: to.bare, resource: to.resource)
      } else {
        if let problem = session.parley.hub.problem(announcing: presence) { return turn.fail(problem) }
        let isFirst = session.presence == nil
        session.presence = presence.isAvailable ? presence : nil
        // XEP-0045 7.14: an unavailable session leaves its rooms.
        if !presence.isAvailable { RoomInbound.leaveAll(session) }
        let count = session.parley.hub.setPresence(presence, of: session.handle)
        session.charge(deliveries: count)
        if isFirst || !presence.isAvailable { PEP.became(isAvailable: presence.isAvailable, session) }
        if presence.isAvailable {
          EntityCapabilities.announced(stanza.element, by: session)
          if isFirst { requests(session) }
          session.becameAvailable()
          if isFirst { Announcements.greet(session) }
        }
      }
    }
  }

  /// Takes a subscription stanza (RFC 6121 3).
  private static func subscribe(_ turn: Turn, _ act: SubscriptionAct) throws(StanzaError) {
    let session = turn.session
    let stanza = turn.stanza
    guard let to = turn.to else { throw StanzaError(.badRequest, "a subscription stanza needs 'to'") }
    guard to.local != nil || session.isRemote(to.domain) else { throw elsewhere(to, session) }
    let extras = subscription(stanza, session.loopContext) { $0.is(AccountAffiliations.info) }
    let kept = extras.isEmpty ? nil : extras
    turn.post(
      act == .subscribe
        ? request(stanza, to: to.bare, extras: kept) : .subscription(act, to: to.bare, stanza: kept))
  }

  /// Answers a probe, or passes it on to a room.
  private static func probe(_ turn: Turn) {
    let session = turn.session
    let stanza = turn.stanza
    if let to = turn.to, isElsewhere(to, session), session.isRooms(to.domain), to.local != nil {
      return RoomInbound.probe(turn, to)
    }
    // Rooms elsewhere may answer their occupants, as those here do (XEP-0045 17.3).
    if let to = turn.to, session.isRemote(to.domain), session.roomsElsewhere.nicks[to.bare] != nil {
      let probe = RelayedStanza(
        name: .presence("probe"), from: session.party, fromResource: session.jid.resource, to: to.bare,
        toResource: to.resource, id: stanza.id, extras: [])
      return signal(turn, .stanza(probe), to, bounces: false)
    }
    // Servers probe, clients need not (RFC 6121 4.3); a probe is answered all the same where the subscription allows
    // it.
    guard let to = turn.to?.bare, to != session.jid.bare,
      let shown = session.parley.hub.sessions(of: to, seenBy: session.jid.jid)
    else { return }
    let bytes = shown.reduce(0) { $0 + ($1.presence?.extras?.count ?? 0) }
    session.charge(items: shown.count, bytes: bytes)
    for onlineSession in shown {
      if let presence = onlineSession.presence { Outbound.presence(presence, to: session) }
    }
  }

  /// Takes the error by which a client says that it does not get what a room sends it.
  private static func presenceError(_ turn: Turn) {
    let session = turn.session
    let stanza = turn.stanza
    guard let to = turn.to, to.local != nil else { return }
    if isElsewhere(to, session) {
      if session.isRooms(to.domain) { RoomInbound.bounced(turn, in: to.bare) }
    } else if session.isRemote(to.domain) {
      // A room elsewhere learns from it that the client is gone (XEP-0045 17.3).
      let relayed = RelayedStanza(
        name: .presence("error"), from: session.party, fromResource: session.jid.resource, to: to.bare,
        toResource: to.resource, id: stanza.id, language: stanza.language, extras: extras(of: stanza, session))
      signal(turn, .stanza(relayed), to, bounces: false)
    }
  }

  /// Sends pending subscription requests again at every initial presence until they are answered (RFC 6121 3.1.3). The other
  /// contacts are not looked at: whoever becomes available again and again may have thousands of them.
  private static func requests(_ session: XMPPSession) {
    guard let requests = session.contactSnapshot?.requests else { return }
    var bytes = 0
    for contact in requests {
      bytes += contact.request?.count ?? 0
      Outbound.subscription(.subscribe, from: contact.address, stanza: contact.request, to: session)
    }
    session.charge(items: requests.count, bytes: bytes)
  }

  /// Returns the children of a subscription stanza, which alone are stored. The stanza's language is therefore written at
  /// the text that it is for, where it means the same (RFC 6120 8.1.5).
  static func subscription(
    _ stanza: Stanza, _ loopContext: LoopContext, except isLeftOut: (Element) -> Bool
  ) -> [UInt8] {
    var writer = loopContext.takeWriter()
    let language = stanza.language
    writer.children(of: stanza.element) { isLeftOut($0) || language != nil && $0.is(.status) }
    if let language {
      for status in stanza.element.children where status.is(.status) && !isLeftOut(status) {
        writer.element(.status) { writer in
          writer.attribute("xml:lang", status.language ?? language)
          writer.text(status.text)
        }
      }
    }
    let bytes = Array(writer.buffer.readableBytesView)
    loopContext.give(writer)
    return bytes
  }

  static func typed(
    _ turn: Turn, isAvailable: Bool, inRoom: Bool = false
  ) throws(StanzaError) -> Presence {
    let stanza = turn.stanza
    let session = turn.session
    var availability = isAvailable ? Presence.Availability.online : .offline
    var status: String?
    var priority: Int8 = 0
    for child in stanza.element.children {
      if child.is(.show), isAvailable {
        switch child.text {
        // go-xmpp sends an empty one to say that it is online.
        case "": break
        case "chat": availability = .chat
        case "away": availability = .away
        case "xa": availability = .extendedAway
        case "dnd": availability = .doNotDisturb
        default: throw StanzaError(.badRequest, "<show/> is chat, away, xa or dnd (RFC 6121 4.7.2.1)")
        }
      } else if child.is(.status), status == nil, !child.text.isEmpty {
        status = child.text
      } else if child.is(.priority) {
        guard let value = Int8(child.text) else {
          throw StanzaError(.badRequest, "<priority/> is a number from -128 to 127 (RFC 6121 4.7.2.3)")
        }
        priority = value
      }
    }
    var writer = session.loopContext.takeWriter()
    AvatarHash.writeChildren(
      of: stanza.element, profile: session.contactSnapshot?.user.profile, isAvailable: isAvailable,
      except: {
        inRoom && (RoomInbound.isStripped($0) || !RoomInbound.isQuiet($0)) || $0.is(.show) && $0.text.isEmpty
      }, into: &writer)
    // In a room what says something to people comes behind all else.
    let quietBytes = inRoom ? writer.buffer.readableBytes : 0
    if inRoom {
      for child in stanza.element.children where !RoomInbound.isStripped(child) && !RoomInbound.isQuiet(child) {
        writer.element(child)
      }
    }
    let extras = Array(writer.buffer.readableBytesView)
    session.loopContext.give(writer)
    return Presence(
      from: session.party, resource: session.jid.resource, availability: availability, status: status,
      priority: priority, id: stanza.id, toResource: turn.to?.resource, language: stanza.language, extras: extras,
      quietBytes: quietBytes, time: session.parley.clock.now)
  }

  // MARK: IQs

  static func iq(_ turn: Turn) throws(StanzaError) {
    let session = turn.session
    let stanza = turn.stanza
    guard let type = stanza.iqType else { return }
    let target: FeatureTable.Target
    if let to = turn.to {
      if to.isBare, to.bare == session.party.address {
        target = .account
      } else if to.local == nil, session.door.options.domains.contains(to.domain) {
        target = .server
      } else if session.isRooms(to.domain) {
        if !to.isBare { return try RoomInbound.iq(turn, to, type) }
        target = to.local == nil ? .rooms : .room
      } else if to.isDomain, session.isUploads(to.domain) {
        target = .uploads
      } else if session.isPubsub(to) {
        target = .pubsub
      } else if isElsewhere(to, session) {
        if !type.isRequest { return }
        throw elsewhere(to, session)
      } else if session.isRemote(to.domain) {
        return try relay(turn, to, type)
      } else if to.isBare {
        try checkBlocks(session, to, type)
        target = .user
      } else {
        return try relay(turn, to, type)
      }
    } else {
      target = .account
    }
    guard type.isRequest else {
      return session.answered(stanza)
    }
    guard let payload = stanza.payload else { throw StanzaError(.serviceUnavailable) }
    if NamespaceDelegation.pass(turn, payload, target) { return }
    guard let handler = session.door.table.iqHandler(payload, isSet: type == .set, target: target)
    else { throw StanzaError(.serviceUnavailable) }
    // A request to a room is answered behind the posts that enter or configure it.
    if target == .room { return turn.afterPosts { () throws(StanzaError) in try handler(turn, payload) } }
    if target == .user { return try turn.handleForUser(payload, handler) }
    try handler(turn, payload)
  }

  private static func checkBlocks(_ session: XMPPSession, _ to: JID, _ type: IQType) throws(StanzaError) {
    guard type.isRequest, let contactSnapshot = session.contactSnapshot, !contactSnapshot.blocks.isEmpty,
      contactSnapshot.blocks(to)
    else { return }
    throw StanzaError(Problem(.blocked, "you-block-this-user", "You have blocked this user."))
  }

  /// Passes an IQ on between clients, to a full JID (RFC 6121 8.5.3.1).
  private static func relay(_ turn: Turn, _ to: JID, _ type: IQType) throws(StanzaError) {
    let session = turn.session
    let stanza = turn.stanza
    if !type.isRequest, JingleSessions.answered(stanza, by: session) { return }
    if !type.isRequest, let contactSnapshot = session.contactSnapshot, !contactSnapshot.blocks.isEmpty,
      contactSnapshot.blocks(to)
    {
      return
    }
    try checkBlocks(session, to, type)
    // XEP-0012 4: only from users who may see the addressee's presence.
    if type == .get, let payload = stanza.payload, !session.isRemote(to.domain),
      !LastActivity.mayPass(payload, from: session.jid.jid, to: to.bare, session.parley.hub)
    {
      throw StanzaError(.forbidden)
    }
    // An app's session speaks no XMPP: the server answers for it.
    if type.isRequest, !session.isRemote(to.domain), let user = session.parley.hub.user(at: to.bare),
      session.parley.hub.onlineSessions(of: user).contains(where: { $0.door == .app && $0.resource == to.resource }),
      let payload = stanza.payload,
      let handler = session.door.table.iqHandler(payload, isSet: type == .set, target: .session)
    {
      return try handler(turn, payload)
    }
    let relayed = RelayedStanza(
      name: .iq(String(describing: type.text)), from: session.party, fromResource: session.jid.resource, to: to.bare,
      toResource: to.resource, id: stanza.id, language: stanza.language, extras: extras(of: stanza, session))
    signal(turn, .stanza(relayed), to, bounces: type.isRequest)
  }
}
