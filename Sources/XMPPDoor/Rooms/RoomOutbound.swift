import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Translates the entries and signals of a room to stanzas for one session. A message to a room is encoded once, behind
/// its `to`, for all occupants.
enum RoomOutbound {
  /// A message of a room behind `<message to='…'` and before `</message>`.
  private final class Tail: Sendable {
    let bytes: ByteBuffer
    init(_ bytes: ByteBuffer) { self.bytes = bytes }
  }

  private static let start: StaticString = "<message"
  private static let end: StaticString = "</message>"

  // MARK: Entries

  static func entry(_ entry: Entry, delayed: Bool, to session: XMPPSession) {
    guard let tail = tail(of: entry, session.parley) else { return }
    session.send(as: .entry(entry, .room)) { writer in
      writer.raw(session.messageStart)
      write(tail, entry, delayed: delayed, into: &writer)
    }
  }

  static func bytes(of entry: Entry, for session: XMPPSession) -> [UInt8] {
    guard let tail = tail(of: entry, session.parley) else { return [] }
    var writer = StreamFraming.writer()
    writer.raw(session.messageStart)
    write(tail, entry, delayed: true, into: &writer)
    return Array(writer.buffer.readableBytesView)
  }

  /// Writes a message as the archive shows it (XEP-0313 5.1.2), without `to`.
  ///
  /// - Parameter withAddress: whether the viewer may see the author's address.
  static func forwarded(
    _ entry: Entry, withAddress: Bool, _ parley: Parley, into writer: inout ElementWriter
  ) {
    guard let tail = tail(of: entry, parley) else { return }
    writer.raw("<message xmlns='jabber:client'" as StaticString)
    writer.raw(tail.bytes)
    if withAddress {
      var inner = ElementWriter()
      inner.element(Name("x", NS.mucUser)) { inner in
        inner.element("item") { $0.attribute("jid", entry.author.address.description) }
      }
      writer.raw(inner.buffer)
    }
    writer.raw(end)
  }

  private static func write(_ tail: Tail, _ entry: Entry, delayed: Bool, into writer: inout ElementWriter) {
    writer.raw(tail.bytes)
    if delayed {
      var inner = ElementWriter()
      // XEP-0045 7.2.13: the room stored it.
      Delay.write(entry.time, by: entry.addressee.description, into: &inner)
      writer.raw(inner.buffer)
    }
    writer.raw(end)
  }

  /// Returns whether XMPP sends occupants a message for an entry of their room. Others, such as the change of a member, are shown by
  /// presences, or not at all.
  static func isSaid(_ entry: Entry) -> Bool {
    switch entry.fact {
    case .message(let message): return message.reference?.isUnspoken != true
    case .room(let change):
      if case .topic = change.change { return true }
      return false
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser,
      .undelivered, .draft, .scheduledMessage, .call, .notification:
      return false
    }
  }

  /// Returns the encoded message; `nil` if XMPP sends no message for the entry.
  private static func tail(of entry: Entry, _ parley: Parley) -> Tail? {
    guard let room = entry.room, isSaid(entry) else { return nil }
    switch entry.fact {
    case .message(let message):
      return entry.forms.form(for: .xmpp) { encode(message, entry, room, parley) }
    case .room(let change):
      guard case .topic(let topic) = change.change else { return nil }
      return entry.forms.form(for: .xmpp) { encode(topic, change.stanza, entry, room, parley) }
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser,
      .draft, .scheduledMessage, .call, .notification, .undelivered:
      return nil
    }
  }

  private static func encode(_ message: Message, _ entry: Entry, _ room: RoomName, _ parley: Parley) -> Tail {
    let envelope = message.envelope
    let isApp = message.traits.contains(.fromApp)
    if let reference = message.reference, case .moderation(let reason) = reference.kind {
      return encode(entry, room, parley, nick: nil, id: nil, language: nil) {
        Moderation.write(
          reference, reason: reason, by: room, parley.occupantID(of: entry.author.id, in: room), into: &$0)
        writeStanzaID(entry, room, into: &$0)
      }
    }
    return encode(
      entry, room, parley, nick: envelope.fromResource, id: isApp ? nil : envelope.id, language: envelope.language
    ) {
      if let retraction = entry.state?.retraction {
        Retractions.writeTombstone(retraction, in: room, { parley.occupantID(of: $0, in: $1) }, into: &$0)
      } else if message.content.extras.isEmpty {
        Outbound.content(of: message, inRoom: true, into: &$0)
        Mentions.write(message.parts > 0 ? [] : message.mentions, in: room, into: &$0)
        $0.open(.originID)
        $0.attribute("id", entry.id.description)
        $0.close()
        if message.traits.contains(.markable) { Markers.writeMarkable(into: &$0) }
      } else {
        $0.raw(message.content.extras)
      }
      if message.traits.contains(.archived) { writeStanzaID(entry, room, into: &$0) }
    }
  }

  private static func encode(
    _ topic: Topic, _ stanza: Message?, _ entry: Entry, _ room: RoomName, _ parley: Parley
  ) -> Tail {
    encode(entry, room, parley, nick: topic.nick, id: stanza?.envelope.id, language: stanza?.envelope.language) {
      if let extras = stanza?.content.extras, !extras.isEmpty {
        $0.raw(extras)
      } else {
        $0.open(.subject)
        $0.text(topic.text)
        $0.close()
      }
      writeStanzaID(entry, room, into: &$0)
    }
  }

  private static func encode(
    _ entry: Entry, _ room: RoomName, _ parley: Parley, nick: String?, id: String?, language: String?,
    _ content: (inout ElementWriter) -> Void
  ) -> Tail {
    var writer = ElementWriter()
    writer.element(.message) { writer in
      writer.attribute("from", Outbound.address(room.address, nick))
      writer.attribute("type", "groupchat" as StaticString)
      writer.attribute("id", id ?? entry.id.description)
      if let language { writer.attribute("xml:lang", language) }
      content(&writer)
      // The room's own messages have no occupant.
      if nick != nil {
        writer.element(.occupantID) { $0.attribute("id", parley.occupantID(of: entry.author.id, in: room)) }
      }
    }
    var bytes = writer.buffer
    bytes.moveReaderIndex(forwardBy: start.utf8CodeUnitCount)
    bytes.moveWriterIndex(to: bytes.writerIndex - end.utf8CodeUnitCount)
    return Tail(bytes)
  }

  private static func writeStanzaID(_ entry: Entry, _ room: RoomName, into writer: inout ElementWriter) {
    writer.element(.stanzaID) { writer in
      writer.attribute("id", entry.id.description)
      writer.attribute("by", room.address.description)
    }
  }

  // MARK: Stanzas that are not stored

  /// Sends an occupant's presence.
  ///
  /// - Parameter version: the version of the member list, for an occupant who has just entered.
  static func presence(
    _ presence: OccupantPresence, _ form: Form, version: MemberListVersion? = nil, to session: XMPPSession
  ) {
    let to = session.jid.description
    let presence = session.isFull && form != .roomOwn ? presence.shortened : presence
    let step = presence.listStep
    let isReader = step.map { session.rooms.reads($0, presence, isOwn: form == .roomOwn) } ?? true
    func stepped() -> MemberListVersion? {
      step.map { MemberListVersion(since: $0.since, until: $0.until, in: presence.room, session.parley) }
    }
    session.send { writer in
      if form == .roomOwn {
        let version = version ?? (isReader ? stepped() : nil)
        OccupantWriter.write(presence, variant: .own, version: version, to: to, into: &writer)
      } else if form == .roomOpen, !isReader {
        // A moderator who is no admin sees addresses, but may not read the lists.
        OccupantWriter.write(presence, variant: .addressed, to: to, into: &writer)
      } else {
        writer.open(.presence)
        writer.attribute("to", to)
        writer.close(with: OccupantWriter.shared(presence, isModerator: form == .roomOpen, version: stepped()))
      }
    }
  }

  /// Sends the member list to an occupant who enters, before all else (XEP-0463 5.2.1).
  ///
  /// - Parameter id: the id of the presence with which they enter.
  static func memberList(_ enteredRoom: EnteredRoom, id: String?, to session: XMPPSession) {
    let (room, to) = (enteredRoom.room.name, session.jid.description)
    switch enteredRoom.list {
    case .nothing: break
    case .refused: session.send { RoomMessages.writeListRefused(by: room, to: to, id: id, into: &$0) }
    case .members(let members, let since):
      guard let until = enteredRoom.listVersion else { return }
      for part in MemberListPart.parts(of: members, since: since, until: until) {
        let version = MemberListVersion(since: part.since, until: part.until, in: room, session.parley)
        session.send {
          RoomMessages.write(part.members, version: version, of: room, to: to, id: DoorContext.randomID(), into: &$0)
        }
      }
    }
  }

  /// Tells a client that takes itself for an occupant that it is none (7.2.18).
  static func notThere(_ occupant: String, _ session: XMPPSession) {
    absent(occupant, codes: [110, 307, 333], reason: "You are not in this room.", session)
  }

  /// Tells a client that nobody has the nick that it probed.
  static func unavailable(_ occupant: String, _ session: XMPPSession) { absent(occupant, codes: [], session) }

  /// Returns the stanza that tells a client that the service has been shut down since: code 332 (11.2).
  static func shutDown(_ occupant: String, to jid: FullJID) -> ByteBuffer {
    var writer = StreamFraming.writer()
    writeAbsent(occupant, codes: [110, 332], to: jid, into: &writer)
    return writer.buffer
  }

  /// Tells a client that it is out of a room since something technical failed: code 333 (11.1).
  static func lost(_ occupant: String, _ session: XMPPSession) {
    absent(occupant, codes: [110, 333], session)
  }

  private static func absent(
    _ occupant: String, codes: [UInt16], reason: String? = nil, _ session: XMPPSession
  ) {
    session.send { writeAbsent(occupant, codes: codes, reason: reason, to: session.jid, into: &$0) }
  }

  private static func writeAbsent(
    _ occupant: String, codes: [UInt16], reason: String? = nil, to jid: FullJID, into writer: inout ElementWriter
  ) {
    writer.element(.presence) { writer in
      writer.attribute("from", occupant)
      writer.attribute("to", jid.description)
      writer.attribute("type", "unavailable" as StaticString)
      writer.element(.mucUser) { writer in
        writer.element("item") { writer in
          writer.attribute("affiliation", "none" as StaticString)
          writer.attribute("role", "none" as StaticString)
          RoomReason.write(reason, into: &writer)
        }
        for code in codes { OccupantWriter.writeStatus(code, into: &writer) }
      }
    }
  }

  static func notice(_ notice: RoomNotice, _ form: Form, to session: XMPPSession) {
    let version = notice.listStep.flatMap { step in
      session.rooms.reads(step, in: notice.room)
        ? MemberListVersion(since: step.since, until: step.until, in: notice.room, session.parley) : nil
    }
    session.send {
      RoomMessages.write(
        notice, showsAddresses: form == .roomOpen, version: version, to: session.jid.description,
        id: DoorContext.randomID(), into: &$0)
    }
  }

  /// The invitations from before the client came that are also in a bookmark: they wait until the client has said
  /// whether it follows bookmarks.
  private static let held = Slot<[Entry]>([])

  /// Sends the held invitations once the client's interests are known.
  static func inviteHeld(_ session: XMPPSession) {
    let entries = session[held]
    if entries.isEmpty { return }
    session[held] = []
    for entry in entries {
      if case .invitation(let invitation) = entry.fact {
        self.invitation(invitation, entry, delayed: true, to: session)
      }
    }
  }

  /// Sends an invitation.
  ///
  /// - Parameter delayed: whether it was kept while the client was away, so that it is not yet known whether this
  ///   client needs it.
  static func invitation(_ invitation: Invitation, _ entry: Entry, delayed: Bool, to session: XMPPSession) {
    guard session.isAvailable else { return }
    if delayed, invitation.isBookmarked {
      if EntityCapabilities.isAsked(session) {
        if session[held].count < DoorLimits.invitationsHeldMax { session[held].append(entry) }
        return
      }
      guard invitation.isFor(session.onlineSession?.interests ?? []) else { return }
    }
    session.send(as: .entry(entry, .direct)) {
      RoomMessages.write(
        invitation, sentAt: delayed ? entry.time : nil, to: session.jid.description, id: entry.id.description,
        into: &$0)
    }
  }

  /// Sends the subject (7.2.15), even of a room without one.
  static func topic(_ room: Room, to session: XMPPSession) {
    session.send {
      RoomMessages.writeSubject(
        room.topic, of: room.name, isDelayed: true, to: session.jid.description, id: nil, into: &$0)
    }
  }

  /// Returns the size of the whole stanza.
  static func byteCount(of entry: Entry, for session: XMPPSession) -> Int {
    (tail(of: entry, session.parley)?.bytes.readableBytes ?? 0) + session.messageStart.readableBytes
      + end.utf8CodeUnitCount
  }
}
