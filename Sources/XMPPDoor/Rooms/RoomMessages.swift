import Addresses
import Dialogs
import XMLStream
import XMPP

/// The messages that a room itself sends (XEP-0045 7.2.15, 7.8.2, 8.1, 8.6, 9.5, 10.2.1, 10.3 to 10.7).
enum RoomMessages {
  // MARK: Notices

  /// - Parameters:
  ///   - showsAddresses: whether the recipient may know who is who: everybody in rooms where people are known, else
  ///     moderators. Of somebody without a nick others are then told nothing.
  ///   - version: of the member list, with a change of it (XEP-0463 5.2.2).
  /// - Returns: whether a message was written.
  @discardableResult
  static func write(
    _ notice: RoomNotice, showsAddresses: Bool, version: MemberListVersion? = nil, to: String, id: String?,
    into writer: inout ElementWriter
  ) -> Bool {
    switch notice.kind {
    case .settings(let codes):
      // 10.2.1.
      open(notice.room, type: .groupchat, to: to, id: id, into: &writer)
      writer.open(.mucUser)
      for code in Set(codes).sorted() { OccupantWriter.writeStatus(code, into: &writer) }
      writer.close()
    case .member(let change):
      guard showsAddresses || change.nick != nil else { return false }
      open(notice.room, to: to, id: id, into: &writer)
      writer.open(.mucUser)
      version?.write(into: &writer)
      writer.open("item")
      writer.attribute("affiliation", change.now.text)
      if showsAddresses { writer.attribute("jid", change.party.address.description) }
      writer.attribute("nick", change.nick)
      writer.attribute("role", Role.none.text)
      RoomReason.write(change.reason, into: &writer)
      writer.close()
      writer.close()
    case .voiceRequest(let nick, let party):
      open(notice.room, to: to, id: id, into: &writer)
      VoiceRequest.form(nick: nick, address: party.address).write(into: &writer)
    case .declined(let by, let reason):
      open(notice.room, to: to, id: id, into: &writer)
      writer.open(.mucUser)
      writer.open("decline")
      writer.attribute("from", by.description)
      RoomReason.write(reason, into: &writer)
      writer.close()
      writer.close()
    }
    writer.close()
    return true
  }

  /// The member list, or what has changed of it, for who enters (XEP-0463 5.2.1). Without nicks: they change, and no version
  /// tells it.
  static func write(
    _ members: [Member], version: MemberListVersion, of room: RoomName, to: String, id: String?,
    into writer: inout ElementWriter
  ) {
    open(room, to: to, id: id, into: &writer)
    writer.open(.mucUser)
    version.write(into: &writer)
    for member in members {
      writer.open("item")
      writer.attribute("affiliation", member.affiliation.text)
      writer.attribute("jid", member.party.address.description)
      writer.close()
    }
    writer.close()
    writer.close()
  }

  /// Who enters may not read the list (XEP-0463 5.2.3).
  static func writeListRefused(by room: RoomName, to: String, id: String?, into writer: inout ElementWriter) {
    open(room, type: .error, to: to, id: id, into: &writer)
    StanzaError(.forbidden, type: .auth).write(into: &writer, by: room.address.description)
    writer.close()
  }

  // MARK: Invitations

  /// 7.8.2, 7.9: the room asks somebody in, for somebody.
  static func write(_ invitation: Invitation, to: String, id: String?, into writer: inout ElementWriter) {
    open(invitation.room, to: to, id: id, into: &writer)
    writer.open(.mucUser)
    writer.open("invite")
    writer.attribute("from", invitation.inviter.address.description)
    RoomReason.write(invitation.reason, into: &writer)
    if let continuing = invitation.continuing {
      writer.open("continue")
      writer.attribute("thread", continuing.thread)
      writer.close()
    }
    writer.close()
    if let password = invitation.password {
      writer.open("password")
      writer.text(password)
      writer.close()
    }
    writer.close()
    writer.close()
  }

  // MARK: Subject

  /// 7.2.15 and 8.1: what the room talks about.
  ///
  /// - Parameters:
  ///   - topic: nil: there never was one, and an empty subject says that the history ends here.
  ///   - occupantID: of the author (XEP-0421 4), where known.
  ///   - isDelayed: whether it was set before the recipient came; then it says when.
  static func writeSubject(
    _ topic: Topic?, of room: RoomName, occupantID: String? = nil, isDelayed: Bool, to: String, id: String?,
    into writer: inout ElementWriter
  ) {
    open(room, nick: topic?.nick, type: .groupchat, to: to, id: id, into: &writer)
    writer.open(.subject)
    if let topic { writer.text(topic.text) }
    writer.close()
    if let occupantID, topic?.nick != nil {
      writer.open(.occupantID)
      writer.attribute("id", occupantID)
      writer.close()
    }
    if isDelayed, let topic {
      XMPP.Delay(stamp: XMPP.Timestamp(milliseconds: topic.time.milliseconds), from: room.address.description)
        .write(into: &writer)
    }
    writer.close()
  }

  private static func open(
    _ room: RoomName, nick: String? = nil, type: MessageType = .normal, to: String, id: String?,
    into writer: inout ElementWriter
  ) {
    writer.open(.message)
    writer.attribute("from", nick.map { "\(room.address)/\($0)" } ?? room.address.description)
    writer.attribute("to", to)
    if type != .normal { writer.attribute("type", type.text) }
    writer.attribute("id", id)
  }
}
