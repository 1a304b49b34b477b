import Addresses
import Basics
import Dialogs
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// Translates a client's stanzas to a room into posts (XEP-0045 7 to 10).
enum RoomInbound {
  /// Returns whether a child of a presence is removed: those that only rooms may add, and those meant for the room
  /// alone.
  static func isStripped(_ child: Element) -> Bool {
    child.is(.mucJoin) || child.is(.mucUser) || child.is(.occupantID) || child.is(.hats)
  }

  /// Returns whether a child of a presence says nothing to people: an occupant without voice may show it.
  static func isQuiet(_ child: Element) -> Bool { quiet.contains { child.is($0) } }
  private static let quiet: [Name] = [
    .show, .priority, Name("c", NS.caps), Name("x", NS.vCardUpdate), Name("idle", NS.idle),
  ]

  // MARK: Presence

  static func presence(_ turn: Turn, _ to: JID, isAvailable: Bool) throws(StanzaError) {
    let session = turn.session
    let address = to.bare
    guard address.local != nil else { throw StanzaError(.serviceUnavailable) }
    guard isAvailable else { return exit(turn, address) }
    guard let nick = to.resource else { return turn.fail(inRoom: .nickMissing) }
    let request = turn.stanza.element.first(.mucJoin).map { JoinElement($0) }
    session.afterPosts {
      if request == nil, session.rooms[address] == nil {
        // The client takes itself for an occupant: it is told that it is none.
        return RoomOutbound.notThere(Outbound.address(address, nick), session)
      }
      let presence: Presence
      do throws(StanzaError) {
        presence = try Inbound.typed(turn, isAvailable: true, inRoom: true)
      } catch {
        return turn.fail(error)
      }
      let entering = Entering(
        session: session.handle, nick: RoomNick.said(in: turn.stanza, parsed: nick), password: request?.password,
        presence: presence, isJoin: request != nil,
        list: request?.known?.request(in: session.party.realm, session.parley))
      turn.postToRoom(.enter(.address(address), entering)) { receipt in
        guard let enteredRoom = receipt.value as? EnteredRoom else { return }
        RoomOutbound.memberList(enteredRoom, id: turn.stanza.id, to: session)
        entered(enteredRoom, request?.history, session)
      }
    }
  }

  /// Sends the others' presence, the own one, the history, the topic, and then what came since, in this order (7.2.2).
  private static func entered(_ enteredRoom: EnteredRoom, _ history: HistoryRequest?, _ session: XMPPSession) {
    let room = enteredRoom.room
    session.follow(from: enteredRoom.position)
    let isLease = room.name.isBeingSetUp
    if session.rooms[room.address] == nil { session.outlet?.entered(room.address) }
    let visit = session.rooms.entered(
      room.address, isLease ? nil : room.name, nick: enteredRoom.own.nick, affiliation: enteredRoom.own.affiliation,
      follows: enteredRoom.follows, place: session.cursor.log.position)
    let seesAll = room.settings.showsAddresses || enteredRoom.own.role == .moderator
    for other in enteredRoom.others { RoomOutbound.presence(other, seesAll ? .roomOpen : .room, to: session) }
    let version = enteredRoom.listVersion.map {
      MemberListVersion(since: nil, until: $0, in: room.name, session.parley)
    }
    RoomOutbound.presence(enteredRoom.own, .roomOwn, version: version, to: session)
    let request = (history ?? HistoryRequest()).bounded(by: room.settings.historyMax)
    guard !isLease else { return RoomOutbound.topic(room, to: session) }
    guard request.limit > 0, let messages = enteredRoom.messages else {
      RoomOutbound.topic(room, to: session)
      return goOn(room.address, visit, through: enteredRoom.position, isLast: true, session)
    }
    let now = session.parley.clock.now
    var query = ArchiveQuery(limit: request.limit)
    query.before = enteredRoom.position.next
    query.backwards = true
    query.bytesMax = DoorLimits.historyBytesMax
    query.start = request.earliest(now: now)
    let (position, asked) = (enteredRoom.position, query)
    session.fetch(as: .archive, { try $0.archive(of: messages, asked).entries }) { result in
      guard session.rooms.isIn(room.address, visit) else { return }
      if case .success(let entries) = result {
        // The topic comes last, once, even if it is in the history.
        let said = entries.filter { if case .message = $0.fact { true } else { false } }
        let count = request.select(
          said.reversed().lazy.map { ($0.time, RoomOutbound.byteCount(of: $0, for: session)) }, now: now)
        session.answering {
          for entry in said.suffix(count) { RoomOutbound.entry(entry, delayed: true, to: session) }
        }
      }
      RoomOutbound.topic(room, to: session)
      goOn(room.address, visit, through: position, isLast: true, session)
    }
  }

  /// Sends the entries that arrived while the history was read: from memory or, if they were too many, from the log.
  private static func goOn(
    _ address: BareJID, _ visit: Int, through end: Position, isLast: Bool, _ session: XMPPSession
  ) {
    for held in session.rooms.told(address, visit, through: end, isLast: isLast) {
      RoomOutbound.entry(held.entry, delayed: false, to: session)
    }
    readOn(address, session)
  }

  /// Reads the room's entries that the session has not sent, up to the session's place: those behind it are sent as the
  /// session comes to them.
  static func readOn(_ address: BareJID, _ session: XMPPSession) {
    guard !session.isClosing, let (room, visit, after) = session.rooms.read(address) else { return }
    let log = LogAccess.own(session.party, rooms: [room])
    session.fetch(
      for: session.missed, { try $0.page(of: log, after: after, limit: Limits.feedPageMax, all: true) }
    ) { result in
      // Otherwise the room would stay silent: live entries wait behind those that are read.
      guard case .success(let page) = result else { return session.unreadable() }
      guard session.rooms.isIn(address, visit) else { return }
      let place = session.cursor.log.position
      for entry in page.entries where entry.room?.dialog == room.room && entry.position <= place {
        RoomOutbound.entry(entry, delayed: false, to: session)
      }
      goOn(
        address, visit, through: min(page.end, place), isLast: page.isLast || page.end >= place, session)
    }
  }

  /// Answers the probe of an occupant, or of the room for all of them, by another occupant (17.3 rule 4). Nobody enters
  /// or leaves by it.
  static func probe(_ turn: Turn, _ to: JID) {
    let session = turn.session
    session.afterPosts {
      turn.postToRoom(.probe(.address(to.bare), nick: to.resource)) { receipt in
        guard let probed = receipt.value as? ProbedOccupants else { return }
        for presence in probed.presences {
          let isOwn = presence.party.id == session.party.id
          RoomOutbound.presence(
            presence, isOwn ? .roomOwn : probed.showsAddresses ? .roomOpen : .room, to: session)
        }
        if probed.presences.isEmpty, let nick = to.resource {
          RoomOutbound.unavailable(Outbound.address(to.bare, nick), session)
        }
      }
    }
  }

  private static func exit(_ turn: Turn, _ address: BareJID) {
    let session = turn.session
    session.afterPosts {
      guard session.rooms[address] != nil else { return }
      let presence = try? Inbound.typed(turn, isAvailable: false, inRoom: true)
      turn.session.post(.room(.exit(.address(address), presence)), then: nil)
    }
  }

  static func leaveAll(_ session: XMPPSession) {
    for address in session.rooms.joinedRooms.keys {
      session.post(.room(.exit(.address(address), nil)), then: nil)
      session.outlet?.left(address)
    }
    session.rooms.leaveAll()
  }

  // MARK: Errors

  /// Handles an error with which a client, or its server, answers a message or a presence of the room: if it shows that
  /// the client is gone, this session alone is removed from the room, whomever the error is addressed to.
  static func bounced(_ turn: Turn, in address: BareJID) {
    let session = turn.session
    guard let error = deliveryError(in: turn.stanza) else { return }
    session.afterPosts {
      guard session.rooms[address] != nil else { return }
      session.post(.room(.lose(.address(address), error)), then: nil)
    }
  }

  /// Returns the error of a stanza if it shows that an occupant is gone: by the delivery-related conditions of XEP-0045
  /// 17.3 ("Ghost Users"), and those that servers use for the same. RFC 6121 8.5.3.2.1 has `service-unavailable` for a
  /// resource that has ended; `internal-server-error`, `jid-malformed` and no `<error/>` at all mean that the stanza has
  /// not been delivered either. An IQ's error may be the answer of a client that is there.
  private static func deliveryError(in stanza: Stanza) -> DeliveryError? {
    guard stanza.isError, stanza.kind != .iq else { return nil }
    guard let error = StanzaError(reportedBy: stanza) else { return DeliveryError(condition: nil) }
    switch error.condition {
    case .gone, .internalServerError, .itemNotFound, .jidMalformed, .recipientUnavailable, .redirect,
      .remoteServerNotFound, .remoteServerTimeout, .serviceUnavailable:
      return DeliveryError(condition: "\(error.condition.text)", text: error.text)
    case .badRequest, .conflict, .featureNotImplemented, .forbidden, .notAcceptable, .notAllowed, .notAuthorized,
      .policyViolation, .registrationRequired, .resourceConstraint, .subscriptionRequired, .undefinedCondition,
      .unexpectedRequest:
      return nil
    }
  }

  // MARK: Messages

  static func message(_ turn: Turn, _ to: JID) throws(StanzaError) {
    let (session, stanza) = (turn.session, turn.stanza)
    guard to.local != nil else {
      session.management.handledUnlessPost()
      if stanza.messageType == .error { return }
      throw StanzaError(.serviceUnavailable)
    }
    switch stanza.messageType {
    case .error:
      session.management.handledUnlessPost()
      bounced(turn, in: to.bare)
    case .groupchat:
      guard to.isBare else {
        session.management.handledUnlessPost()
        return turn.fail(
          inRoom: StanzaError(.badRequest, "what is said to everybody is addressed to the room (XEP-0045 7.4)"))
      }
      try say(turn, to.bare)
    case .chat, .normal, .headline:
      if let nick = to.resource { return try whisper(turn, to.bare, nick) }
      session.management.handledUnlessPost()
      try toRoom(turn, to.bare)
    }
  }

  private static func read(_ turn: Turn) throws(StanzaError) -> Draft {
    try Inbound.draft(of: turn.stanza.element, turn.session.door.table)
  }

  /// Returns the draft of a message to all or to one.
  private static func said(
    _ turn: Turn, _ draft: Draft, _ type: Envelope.MessageType, _ extras: [UInt8]
  ) -> RoomMessageDraft {
    let content = draft.content(extras, turn.parley.blobs?.policy.links)
    var traits: Message.Traits = draft.isTransient ? [.transient] : [.archived]
    if draft.isMarkable { traits.insert(.markable) }
    if draft.isUncopied { traits.insert(.uncopied) }
    if content.kind != .none { traits.insert(.counts) }
    var key: RepeatKey?
    if let id = draft.originID ?? turn.stanza.id, id.utf8.count <= Limits.stanzaIDBytesMax {
      var digest = Digest64()
      extras.withUnsafeBytes { digest.combine($0) }
      key = RepeatKey(rule: .xmpp, id: id, bodyHash: digest.finish())
    }
    return RoomMessageDraft(
      content: content, envelope: envelope(turn, type), traits: traits, key: key,
      reference: draft.reference, mentions: draft.textMentions)
  }

  private static func envelope(_ turn: Turn, _ type: Envelope.MessageType) -> Envelope {
    Envelope(type: type, fromResource: turn.jid.resource, id: turn.stanza.id, language: turn.stanza.language)
  }

  private static func say(_ turn: Turn, _ address: BareJID) throws(StanzaError) {
    let draft = try read(turn)
    defer { DisplayedSync.assist(draft, in: JID(address), turn) }
    let room = RoomReference.address(address)
    let extras = Inbound.extras(of: turn.stanza, turn.session, rooms: address.domain)
    // The stanza of a topic or a marker.
    let stanza = RoomMessageDraft(
      content: Content(kind: .none, extras: extras), envelope: envelope(turn, .groupchat), traits: [.archived], key: nil
    )
    if let topic = topic(of: turn.stanza, draft) {
      return turn.postToRoom(.topic(room, text: topic, stanza: stanza), numbered: true)
    }
    if let marker = draft.marker, !draft.isSaid {
      guard let id = PublicID(marker.id), marker.kind == .displayed else { return overhear(turn, room, draft, extras) }
      return turn.postToRoom(
        .marker(room, RoomMarkerDraft(kind: marker.kind, target: id, stanza: stanza)), numbered: true)
    }
    guard draft.isSaid, !draft.isUnstored else { return overhear(turn, room, draft, extras) }

    turn.postToRoom(.say(room, said(turn, draft, .groupchat, extras)), numbered: true)
  }

  /// Returns the topic that a message sets: a subject and neither body nor thread (8.1).
  static func topic(of stanza: Stanza, _ draft: Draft) -> String? {
    guard draft.body == nil, stanza.element.first(Name("thread", NS.client)) == nil else { return nil }
    return stanza.element.first(.subject)?.text
  }

  /// Passes on chat states and other messages that are not kept.
  private static func overhear(_ turn: Turn, _ room: RoomReference, _ draft: Draft, _ extras: [UInt8]) {
    turn.postToRoom(.signal(room, relayed(turn, .message(.groupchat), draft, extras)), numbered: true)
  }

  private static func relayed(
    _ turn: Turn, _ name: RelayedStanza.Name, _ draft: Draft, _ extras: [UInt8]
  ) -> RelayedStanza {
    RelayedStanza(
      name: name, from: turn.party, fromResource: turn.jid.resource, to: turn.party.address, toResource: nil,
      id: turn.stanza.id, language: turn.stanza.language, extras: extras, typing: draft.typing,
      custom: draft.custom, isPrivate: draft.isUncopied)
  }

  /// Sends a private message (7.5). One with content is an entry; chat states, receipts and markers alone are passed
  /// on, and so are messages that are not to be kept.
  private static func whisper(_ turn: Turn, _ address: BareJID, _ nick: String) throws(StanzaError) {
    let draft = try read(turn)
    defer { if let to = turn.to { DisplayedSync.assist(draft, in: to, turn) } }
    let room = RoomReference.address(address)
    var writer = turn.session.loopContext.takeWriter()
    let domain = turn.jid.bare.domain
    writer.children(of: turn.stanza.element) {
      turn.session.strips($0, domain, rooms: address.domain) || $0.is(.mucUser)
    }
    // Receivers recognise by this that it is no user's address (7.5).
    writer.element(.mucUser)
    let extras = Array(writer.buffer.readableBytesView)
    turn.session.loopContext.give(writer)
    let type: Envelope.MessageType =
      switch turn.stanza.messageType {
      case .normal: .normal
      case .headline: .headline
      case .chat, .groupchat, .error: .chat
      }
    guard draft.isSaid || draft.isStored, !draft.isUnstored, !draft.isTransient, type != .headline else {
      return turn.postToRoom(.pass(room, nick: nick, relayed(turn, .message(type), draft, extras)), numbered: true)
    }
    turn.postToRoom(.whisper(room, nick: nick, said(turn, draft, type, extras)), numbered: true)
  }

  /// Handles a message to the room itself: invitations, declines, voice.
  private static func toRoom(_ turn: Turn, _ address: BareJID) throws(StanzaError) {
    let room = RoomReference.address(address)
    if let element = turn.stanza.element.first(.mucUser) {
      switch try UserElement.read(element) {
      case .invite(let people):
        for asked in people {
          turn.postToRoom(
            .invite(
              room, to: asked.to.bare, reason: asked.reason,
              continuing: asked.isContinued ? Invitation.Continuation(thread: asked.thread) : nil))
        }
      case .decline(let declined):
        var writer = turn.session.loopContext.takeWriter()
        RoomMessages.writeDecline(by: turn.party.address, reason: declined.reason, into: &writer)
        let extras = Array(writer.buffer.readableBytesView)
        turn.session.loopContext.give(writer)
        turn.postToRoom(
          .decline(
            room, to: declined.to.bare, reason: declined.reason, id: DoorContext.randomID(), extras: extras))
      case nil: throw StanzaError(.badRequest, "a message to a room is of type groupchat (XEP-0045 7.4)")
      }
      return
    }
    if let element = turn.stanza.element.first(.dataForm) {
      switch try VoiceRequest.read(DataForm(element)) {
      case .request: turn.postToRoom(.askForVoice(room))
      case .answer(let nick, isGranted: true):
        turn.postToRoom(.roles(room, [RoleDraft(nick: nick, role: .participant, reason: nil)]))
      // Declined, or cancelled: nothing happens.
      case .answer, nil: break
      }
      return
    }
    throw StanzaError(.badRequest, "a message to a room is of type groupchat (XEP-0045 7.4)")
  }

  // MARK: IQs to occupants

  static func iq(_ turn: Turn, _ to: JID, _ type: IQType) throws(StanzaError) {
    let session = turn.session
    let address = to.bare
    guard let nick = to.resource, address.local != nil else {
      if type.isRequest { throw StanzaError(.serviceUnavailable) }
      return
    }
    session.afterPosts {
      guard let joinedRoom = session.rooms[address] else {
        guard type.isRequest else { return }
        let asks = turn.stanza.payload.map { $0.is(.discoInfo) || $0.is(.discoItems) } ?? false
        // 6.6; XEP-0410 3 defines the error for "not an occupant".
        return asks ? turn.fail(StanzaError(.badRequest, "enter the room first")) : turn.fail(inRoom: .notOccupant)
      }
      // XEP-0410 3.3: the room answers for the client that pings itself.
      if type == .get, nick == joinedRoom.nick, turn.stanza.payload?.is(.ping) == true { return turn.reply() }
      if type == .get, turn.stanza.payload?.is(VCard.vCard) == true {
        return RoomVCard.getOfOccupant(turn, in: address, nick)
      }
      pass(turn, address, nick, type)
    }
  }

  /// The requests that a client answers by itself (17.4), without showing them to its user. They pass between all
  /// occupants; any other request passes where a private message does.
  private static let questions: [Name] = [
    .discoInfo, .discoItems, .ping, EntityTime.time, LastActivity.query, SoftwareVersion.query, Name("data", NS.bob),
  ]

  /// Passes an IQ on between the clients of two occupants: versions, times.
  private static func pass(_ turn: Turn, _ address: BareJID, _ nick: String, _ type: IQType) {
    let session = turn.session
    let extras = Inbound.extras(of: turn.stanza, session)
    let stanza = relayed(turn, .iq(String(describing: type.text)), Draft(), extras)
    if type.isRequest {
      let asks = turn.stanza.payload.map { payload in questions.contains { payload.is($0) } } ?? false
      turn.postToRoom(.pass(.address(address), nick: nick, stanza, isQuestion: asks && type == .get))
    } else {
      session.post(.room(.pass(.address(address), nick: nick, stanza)), then: nil)
    }
  }
}
