import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// Writes the messages that a room itself sends (XEP-0045 7.2.15, 7.8.2, 8.1, 8.6, 9.5, 10.2.1, 10.3 to 10.7).
enum RoomMessages {
  // MARK: Notices

  /// Writes a notice.
  ///
  /// - Parameters:
  ///   - showsAddresses: whether the recipient may see addresses, as all may in non-anonymous rooms, and moderators
  ///     elsewhere. Otherwise nothing is written about a person without a nick.
  ///   - version: the version of the member list, with a change of it (XEP-0463 5.2.2).
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
      writer.element(.mucUser) { writer in
        for code in Set(codes).sorted() { OccupantWriter.writeStatus(code, into: &writer) }
      }
    case .member(let change):
      guard showsAddresses || change.nick != nil else { return false }
      open(notice.room, to: to, id: id, into: &writer)
      writer.element(.mucUser) { writer in
        version?.write(into: &writer)
        writer.element("item") { writer in
          writer.attribute("affiliation", change.now.text)
          if showsAddresses { writer.attribute("jid", change.party.address.description) }
          writer.attribute("nick", change.nick)
          writer.attribute("role", Role.none.text)
          RoomReason.write(change.reason, into: &writer)
        }
      }
    case .voiceRequest(let nick, let party):
      open(notice.room, to: to, id: id, into: &writer)
      VoiceRequest.form(nick: nick, address: party.address).write(into: &writer)
    case .declined(let by, let reason):
      open(notice.room, to: to, id: id, into: &writer)
      writeDecline(by: by, reason: reason, into: &writer)
    }
    writer.close()
    return true
  }

  /// Writes the content of the message about a declined invitation (7.8.2).
  static func writeDecline(by user: BareJID, reason: String?, into writer: inout ElementWriter) {
    writer.element(.mucUser) { writer in
      writer.element("decline") { writer in
        writer.attribute("from", user.description)
        RoomReason.write(reason, into: &writer)
      }
    }
  }

  /// Writes the member list, or its changes, for an occupant who enters (XEP-0463 5.2.1). It has no nicks: they change
  /// without a new version.
  static func write(
    _ members: [Member], version: MemberListVersion, of room: RoomName, to: String, id: String?,
    into writer: inout ElementWriter
  ) {
    open(room, to: to, id: id, into: &writer)
    writer.element(.mucUser) { writer in
      version.write(into: &writer)
      for member in members {
        writer.element("item") { writer in
          writer.attribute("affiliation", member.affiliation.text)
          writer.attribute("jid", member.party.address.description)
        }
      }
    }
    writer.close()
  }

  /// Writes the refusal of the member list to an occupant who may not read it (XEP-0463 5.2.3).
  static func writeListRefused(by room: RoomName, to: String, id: String?, into writer: inout ElementWriter) {
    open(room, type: .error, to: to, id: id, into: &writer)
    StanzaError(.forbidden, type: .auth).write(into: &writer, by: room.address.description)
    writer.close()
  }

  // MARK: Invitations

  /// Writes a mediated invitation (7.8.2, 7.9).
  ///
  /// - Parameter time: the time of an invitation that was kept while nobody could be sent it; `nil` for a new one.
  static func write(
    _ invitation: Invitation, sentAt time: Timestamp? = nil, to: String, id: String?, into writer: inout ElementWriter
  ) {
    open(invitation.room, to: to, id: id, into: &writer)
    writer.open(.mucUser)
    writer.open("invite")
    writer.attribute("from", invitation.inviter.address.description)
    RoomReason.write(invitation.reason, into: &writer)
    if let continuing = invitation.continuing {
      writer.element("continue") { $0.attribute("thread", continuing.thread) }
    }
    writer.close()
    if let password = invitation.password { writer.element("password") { $0.text(password) } }
    writer.close()
    if let time { Delay.write(time, by: invitation.room.address.description, into: &writer) }
    writer.close()
  }

  // MARK: Subject

  /// Writes the subject (7.2.15, 8.1).
  ///
  /// - Parameters:
  ///   - topic: the topic; `nil` if there never was one: an empty subject ends the history.
  ///   - occupantID: the occupant id of the author (XEP-0421 4), where known.
  ///   - isDelayed: whether it was set before the recipient entered; then its time is written.
  static func writeSubject(
    _ topic: Topic?, of room: RoomName, occupantID: String? = nil, isDelayed: Bool, to: String, id: String?,
    into writer: inout ElementWriter
  ) {
    open(room, nick: topic?.nick, type: .groupchat, to: to, id: id, into: &writer)
    writer.element(.subject) { writer in
      if let topic { writer.text(topic.text) }
    }
    if let occupantID, topic?.nick != nil { writer.element(.occupantID) { $0.attribute("id", occupantID) } }
    if isDelayed, let topic {
      XMPP.Delay(stamp: topic.time, from: room.address.description)
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
