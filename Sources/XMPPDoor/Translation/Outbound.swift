import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Translates entries and signals to stanzas for one session. A payload from XMPP is copied as bytes; one from the app
/// is rendered here.
enum Outbound {
  // MARK: Entries

  static func entry(_ entry: Entry, _ form: Form, delayed: Bool, to session: XMPPSession) {
    if entry.room != nil { return RoomOutbound.entry(entry, delayed: delayed, to: session) }
    if case .call(let change) = entry.fact {
      JingleSessions.ended(change.call, with: change.call.peer(of: session.party.id).party.address, session)
    }
    switch entry.fact {
    case .message, .call, .marker:
      guard let message = message(of: entry) else { return }
      let isMarker = if case .marker = entry.fact { true } else { false }
      if form == .direct, message.envelope.toResource == nil, !isMarker, !session.isAvailable { return }
      session.send(as: .entry(entry, form)) { write(entry, message, form, delayed: delayed, for: session, into: &$0) }
    case .contact(let change):
      if let act = change.act, session.isAvailable {
        subscription(act, from: change.contact.address, stanza: change.stanza, to: session)
      }
      if change.push { Roster.push(change, to: session) }
      if change.act == .subscribed { PEP.subscribed(to: [change.contact], session) }
    case .contactGroup(let change): Roster.push(change, at: entry.position, to: session)
    case .blocks(let change): Blocking.push(change, to: session)
    case .profile(let profile): AvatarHash.changed(profile, session)
    case .invitation(let invitation): RoomOutbound.invitation(invitation, entry, delayed: delayed, to: session)
    case .undelivered(let undelivered):
      session.send(as: .entry(entry, form)) {
        UndeliveredStanzas.write(
          undelivered, form, delayed: delayed ? entry.time : nil, to: session.party.address,
          session: session.jid.description, into: &$0)
      }
    case .dialogOpened, .room, .node, .settings, .perUser, .draft, .scheduledMessage, .notification: break
    }
  }

  /// Sends an unacknowledged entry again after a resumption. It is in the queue already.
  static func resend(_ entry: Entry, _ form: Form, to session: XMPPSession) {
    let bytes = bytes(of: entry, form, for: session)
    session.outlet?.write { $0.raw(bytes) }
  }

  /// Returns the stanza as it would be sent again.
  static func bytes(of entry: Entry, _ form: Form, for session: XMPPSession) -> [UInt8] {
    if entry.room != nil { return RoomOutbound.bytes(of: entry, for: session) }
    var writer = StreamFraming.writer()
    switch entry.fact {
    case .undelivered(let undelivered):
      UndeliveredStanzas.write(
        undelivered, form, delayed: entry.time, to: session.party.address, session: session.jid.description,
        into: &writer)
    case .invitation(let invitation):
      RoomMessages.write(
        invitation, sentAt: entry.time, to: session.jid.description, id: entry.id.description, into: &writer)
    case .message, .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .node, .settings,
      .perUser, .draft, .scheduledMessage, .call, .notification:
      if let message = message(of: entry) { write(entry, message, form, delayed: true, for: session, into: &writer) }
    }
    return Array(writer.buffer.readableBytesView)
  }

  private static func write(
    _ entry: Entry, _ message: Message, _ form: Form, delayed: Bool, for session: XMPPSession,
    into writer: inout ElementWriter
  ) {
    switch form {
    case .direct, .feed, .feedAnonymized, .room, .roomOpen, .roomOwn, .account:
      if entry.whisper != nil {
        return writeWhisper(
          of: entry, message, to: session.jid.description, withStanzaID: true, isDelayed: delayed,
          viewer: session.party, { session.parley.occupantID(of: $0, in: $1) }, into: &writer)
      }
      writeStanza(
        of: entry, message, to: address(entry.addressee, message.envelope.toResource),
        withStanzaID: true, isDelayed: delayed, viewer: session.party, into: &writer)
    case .carbonReceived, .carbonSent:
      let direction: Carbons.Direction = form == .carbonSent ? .sent : .received
      Carbons.open(
        direction, from: session.party.address.description, to: session.jid.description, type: message.envelope.type,
        into: &writer)
      let addressee = address(entry.addressee, message.envelope.toResource)
      writeStanza(
        of: entry, message, to: addressee, withStanzaID: true, isDelayed: delayed, viewer: session.party,
        into: &writer)
      Carbons.close(into: &writer)
    }
  }

  /// Returns the message of an entry between users; `nil` if it is shown to no user as a message.
  static func message(of entry: Entry) -> Message? {
    switch entry.fact {
    case .message(let message): message.isUnspoken ? nil : message
    case .call(let change): change.stanza
    case .marker(let marker): marker.stanza ?? rendered(marker, of: entry)
    case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings, .perUser,
      .draft,
      .scheduledMessage, .notification, .undelivered:
      nil
    }
  }

  /// Writes the whole message of an entry, addressed as its author wrote it (RFC 6121 8.5.2.1.1: a bare address stays
  /// bare), as live delivery, carbons and the archive show it.
  ///
  /// - Parameters:
  ///   - withStanzaID: whether to add the archive's id (XEP-0359); the archive itself states it around the message.
  ///   - viewer: the user in whose archive that id stands.
  ///   - further: writes what only this recipient gets.
  static func writeStanza(
    of entry: Entry, _ message: Message, to: String, withStanzaID: Bool, isDelayed: Bool, viewer: Party,
    into writer: inout ElementWriter, further: (inout ElementWriter) -> Void = { _ in }
  ) {
    writeStanza(
      of: entry, message, from: address(entry.author, message.envelope.fromResource), to: to,
      withStanzaID: withStanzaID, isDelayed: isDelayed, viewer: viewer, into: &writer, further: further)
  }

  /// Writes a whisper as the private message that its addressee gets (XEP-0045 7.5), by nick and occupant id (XEP-0421
  /// 4) only.
  static func writeWhisper(
    of entry: Entry, _ message: Message, to: String, withStanzaID: Bool, isDelayed: Bool, viewer: Party,
    _ occupantID: (UserID, RoomName) -> String, into writer: inout ElementWriter
  ) {
    guard let whisper = entry.whisper else { return }
    writeStanza(
      of: entry, message, from: address(whisper.room.address, whisper.nick), to: to, withStanzaID: withStanzaID,
      isDelayed: isDelayed, viewer: viewer, occupantID: occupantID(entry.author.id, whisper.room),
      into: &writer)
  }

  private static func writeStanza(
    of entry: Entry, _ message: Message, from: String, to: String, withStanzaID: Bool, isDelayed: Bool, viewer: Party,
    occupantID: String? = nil, into writer: inout ElementWriter, further: (inout ElementWriter) -> Void = { _ in }
  ) {
    let envelope = message.envelope
    writer.element(.message) { writer in
      writer.attribute("from", from)
      writer.attribute("to", to)
      writer.attribute("type", typeText(envelope.type))
      if message.traits.contains(.fromApp) {
        // An app's message has one id everywhere.
        writer.attribute("id", entry.id.description)
      } else if let id = envelope.id {
        writer.attribute("id", id)
      } else {
        writer.attribute("id", entry.id.description)
      }
      if let language = envelope.language { writer.attribute("xml:lang", language) }
      if let retraction = entry.state?.retraction {
        Retractions.writeTombstone(retraction, in: nil, { _, _ in "" }, into: &writer)
        // The element was removed with the rest of the content.
        if entry.whisper != nil { writer.element(.mucUser) }
      } else if message.content.extras.isEmpty {
        rendered(message, entry, into: &writer)
      } else {
        writer.raw(message.content.extras)
      }
      if withStanzaID, message.traits.contains(.archived) {
        writer.element(.stanzaID) { writer in
          writer.attribute("id", entry.id.description)
          writer.attribute("by", viewer.address.description)
        }
      }
      if let occupantID { writer.element(.occupantID) { $0.attribute("id", occupantID) } }
      if isDelayed { Delay.write(entry.time, by: viewer.address.domain, into: &writer) }
      further(&writer)
    }
  }

  private static func rendered(_ message: Message, _ entry: Entry, into writer: inout ElementWriter) {
    content(of: message, inRoom: false, into: &writer)
    Mentions.write(message.parts > 0 ? [] : message.mentions, in: nil, into: &writer)
    writer.element(.originID) { $0.attribute("id", entry.id.description) }
    if message.traits.contains(.receipted) { Receipts.writeRequest(into: &writer) }
    if message.traits.contains(.markable) { Markers.writeMarkable(into: &writer) }
  }

  /// Writes the content of an app's message, and its reference to an earlier one.
  static func content(of message: Message, inRoom: Bool, into writer: inout ElementWriter) {
    if message.content.kind.isFile, let attachment = message.content.attachments.first {
      // Each of several files has its own stanza, and so has the text sent with them (`Messages/Bundle.swift`).
      FileSharing.write(attachment, caption: message.parts > 0 ? "" : message.content.text, into: &writer)
    } else if message.content.kind == .location, let place = Geolocation.Place(message.content) {
      Geolocation.write(place, caption: message.content.text, into: &writer)
    } else if !message.content.text.isEmpty || message.content.kind != .none {
      writer.element(.body) { $0.text(message.content.text) }
      if message.content.kind == .custom, let own = JSONContainers.OwnContent(message.content) {
        JSONContainers.write(own, into: &writer)
      }
      // Clients that rang need no text.
      if message.content.kind == .call { Fallbacks.write(for: NS.jingleMessage, into: &writer) }
    }
    guard let reference = message.reference else { return }
    switch reference.kind {
    case .reply: Replies.write(reference, inRoom: inRoom, into: &writer)
    case .correction: Corrections.write(reference, into: &writer)
    case .reactions(let emoji): Reactions.write(reference, emoji, inRoom: inRoom, into: &writer)
    case .retraction: Retractions.write(reference, inRoom: inRoom, into: &writer)
    // A moderation is sent by the room; a pin is not sent; a part is a stanza like others.
    case .moderation, .pin, .part: break
    }
  }

  /// Returns a marker that the app set as the stanza that an XMPP client would have sent.
  private static func rendered(_ marker: Marker, of entry: Entry) -> Message {
    var writer = StreamFraming.writer()
    let target = marker.targetStanzaID ?? marker.targetID.description
    switch marker.kind {
    case .delivered: Receipts.writeReceived(target, into: &writer)
    case .displayed: Markers.writeDisplayed(target, into: &writer)
    }
    return Message(
      sequence: 0, content: Content(kind: .none, extras: Array(writer.buffer.readableBytesView)),
      envelope: Envelope(type: .chat), traits: [])
  }

  static func typeText(_ type: Envelope.MessageType) -> StaticString {
    switch type {
    case .normal: "normal"
    case .chat: "chat"
    case .groupchat: "groupchat"
    case .headline: "headline"
    case .error: "error"
    }
  }

  static func address(_ party: Party, _ resource: String?) -> String { address(party.address, resource) }

  static func address(_ address: BareJID, _ resource: String?) -> String {
    guard let resource else { return address.description }
    return "\(address.description)/\(resource)"
  }

  // MARK: Presence

  static func presence(_ presence: Presence, to session: XMPPSession) {
    let presence = session.isFull ? presence.shortened : presence
    session.send { write(presence, to: session.party.address, into: &$0) }
  }

  static func write(_ presence: Presence, to: BareJID, into writer: inout ElementWriter) {
    writer.element(.presence) { writer in
      // Without a resource it stands for all of them (their server is gone).
      writer.attribute("from", address(presence.from, presence.resource.isEmpty ? nil : presence.resource))
      // RFC 6121 8.5.2.1.2: as it was addressed; a broadcast goes to the bare address.
      writer.attribute("to", address(to, presence.toResource))
      if !presence.isAvailable { writer.attribute("type", "unavailable" as StaticString) }
      if let id = presence.id { writer.attribute("id", id) }
      if let language = presence.language { writer.attribute("xml:lang", language) }
      writeChildren(of: presence, into: &writer)
    }
  }

  /// Writes the children that the client sent, even none; or those of an app's session, whose capabilities are the
  /// server's, which answers for it (XEP-0115 4).
  static func writeChildren(of presence: Presence, into writer: inout ElementWriter) {
    if let extras = presence.extras { return writer.raw(extras) }
    writeShow(of: presence, into: &writer)
    if let status = presence.status { writer.element(.status) { $0.text(status) } }
    guard presence.isAvailable else { return }
    EntityCapabilities.writeSession(into: &writer)
    if let hash = presence.avatarHash { AvatarHash.write(hash.isEmpty ? nil : hash, into: &writer) }
  }

  /// Writes `<show/>`; nothing where it is left out (RFC 6121 4.7.2.1).
  static func writeShow(of presence: Presence, into writer: inout ElementWriter) {
    let show: StaticString? =
      switch presence.availability {
      case .online, .offline: nil
      case .chat: "chat"
      case .away: "away"
      case .extendedAway: "xa"
      case .doNotDisturb: "dnd"
      }
    if let show { writer.element(.show) { $0.text(String(describing: show)) } }
  }

  static func subscription(_ act: SubscriptionAct, from contact: BareJID, stanza: [UInt8]?, to session: XMPPSession) {
    let stanza = session.isFull ? nil : stanza
    session.send { writer in
      writer.open(.presence)
      writer.attribute("from", contact.description)
      writer.attribute("to", session.party.address.description)
      let type: StaticString =
        switch act {
        case .subscribe: "subscribe"
        case .subscribed: "subscribed"
        case .unsubscribe: "unsubscribe"
        case .unsubscribed: "unsubscribed"
        }
      writer.attribute("type", type)
      if let stanza { writer.raw(stanza) }
      writer.close()
    }
  }

  // MARK: Relayed stanzas

  static func relayed(_ stanza: RelayedStanza, _ form: Form, to session: XMPPSession) {
    session.send { writer in
      switch form {
      case .direct, .feed, .feedAnonymized, .account: write(stanza, to: addressee(of: stanza), into: &writer)
      // A room's signals are addressed to this session.
      case .room, .roomOpen, .roomOwn:
        write(stanza, to: session.jid.description, session.parley, into: &writer)
      case .carbonReceived, .carbonSent:
        guard case .message(let type) = stanza.name else { return }
        Carbons.open(
          form == .carbonSent ? .sent : .received, from: session.party.address.description,
          to: session.jid.description, type: type, into: &writer)
        write(stanza, to: addressee(of: stanza), into: &writer)
        Carbons.close(into: &writer)
      }
    }
  }

  static func write(
    _ stanza: RelayedStanza, into writer: inout ElementWriter, further: (inout ElementWriter) -> Void = { _ in }
  ) {
    write(stanza, to: addressee(of: stanza), into: &writer, further: further)
  }

  private static func addressee(of stanza: RelayedStanza) -> String {
    stanza.toResource.map { "\(stanza.to.description)/\($0)" } ?? stanza.to.description
  }

  private static func write(
    _ stanza: RelayedStanza, to: String, _ parley: Parley? = nil, into writer: inout ElementWriter,
    further: (inout ElementWriter) -> Void = { _ in }
  ) {
    switch stanza.name {
    case .message(let type):
      writer.open(.message)
      writer.attribute("type", typeText(type))
    case .iq(let type):
      writer.open(.iq)
      writer.attribute("type", type)
    case .presence(let type):
      writer.open(.presence)
      if !type.isEmpty { writer.attribute("type", type) }
    }
    writer.attribute("from", address(stanza.sender, stanza.fromResource))
    writer.attribute("to", to)
    if let id = stanza.id { writer.attribute("id", id) }
    if let language = stanza.language { writer.attribute("xml:lang", language) }
    // XEP-0421 4: on every message of a room.
    if let room = stanza.room, let parley, case .message = stanza.name {
      writer.element(.occupantID) { $0.attribute("id", parley.occupantID(of: stanza.from.id, in: room)) }
    }
    if stanza.extras.isEmpty {
      if let typing = stanza.typing { ChatStates.write(isTyping: typing, into: &writer) }
      if let custom = stanza.custom { JSONContainers.write(custom, into: &writer) }
    } else {
      writer.raw(stanza.extras)
    }
    further(&writer)
    writer.close()
  }
}
