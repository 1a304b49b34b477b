import Addresses
import Basics
import Dialogs

/// Rooms' changes and invitations, as bytes.
extension FactCoding {
  // MARK: Changes

  /// The stored values: never renumber.
  private enum ChangeKind: Int64 {
    case created = 1, settings = 2, topic = 3, member = 4, destroyed = 5
    /// A change of a member with the kicked states before and after it.
    case kick = 6
  }

  static func write(_ change: RoomChange, _ out: inout ByteWriter) {
    out.write(change.sequence)
    out.write(change.stanza != nil)
    switch change.change {
    case .created: out.write(ChangeKind.created.rawValue)
    case .settings(let settings, let was):
      out.write(ChangeKind.settings.rawValue)
      out.write(encode(settings: settings))
      out.write(encode(settings: was))
    case .topic(let topic):
      out.write(ChangeKind.topic.rawValue)
      out.write(topic.text)
      out.write(topic.nick) { $0.write($1) }
      out.write(topic.time.milliseconds)
    case .member(let member):
      let isKick = member.wasKicked || member.isKicked
      out.write((isKick ? ChangeKind.kick : .member).rawValue)
      out.write(member.party.id.number)
      out.write(Int64(member.was.rawValue))
      out.write(Int64(member.now.rawValue))
      out.write(member.nick) { $0.write($1) }
      out.write(member.reason) { $0.write($1) }
      if isKick {
        out.write(member.wasKicked)
        out.write(member.isKicked)
      }
    case .destroyed(let reason, let alternate):
      out.write(ChangeKind.destroyed.rawValue)
      out.write(reason) { $0.write($1) }
      out.write(alternate) { $0.write($1.description) }
    }
  }

  static func roomChange(
    _ from: inout ByteReader, stanza: () throws(StoreFailure) -> Message, party: (UserID) throws -> Party
  ) throws -> RoomChange {
    let sequence = try from.int()
    let carried = try from.flag() ? try stanza() : nil
    return RoomChange(sequence: sequence, change: try change(&from, party: party), stanza: carried)
  }

  private static func change(
    _ from: inout ByteReader, party: (UserID) throws -> Party
  ) throws -> RoomChange.Change {
    guard let kind = ChangeKind(rawValue: try from.int()) else { throw damaged }
    switch kind {
    case .created: return .created
    case .settings:
      let settings = try decode(settings: try from.array())
      return .settings(settings, was: try decode(settings: try from.array()))
    case .topic:
      return .topic(
        Topic(
          text: try from.text(), nick: try from.optional(text), time: Timestamp(milliseconds: try from.int())))
    case .member, .kick:
      return .member(
        MemberChange(
          party: try party(UserID(try from.int())), was: try affiliation(from.int()),
          now: try affiliation(from.int()), nick: try from.optional(text), reason: try from.optional(text),
          wasKicked: try kind == .kick && from.flag(), isKicked: try kind == .kick && from.flag()))
    case .destroyed:
      let reason = try from.optional(text)
      let alternate = try from.optional { from throws(StoreFailure) in
        guard let address = BareJID(stored: try from.text()) else { throw damaged }
        return address
      }
      return .destroyed(reason: reason, alternate: alternate)
    }
  }

  static func affiliation(_ number: Int64) throws(StoreFailure) -> Affiliation {
    guard let affiliation = Affiliation(rawValue: UInt8(clamping: number)) else { throw damaged }
    return affiliation
  }

  // MARK: Invitations

  static func write(_ invitation: Invitation, _ out: inout ByteWriter) {
    out.write(invitation.room.dialog.number)
    out.write(invitation.inviter.id.number)
    out.write(invitation.reason) { $0.write($1) }
    out.write(invitation.password) { $0.write($1) }
    // Stored inverted.
    out.write(!invitation.isBookmarked)
    out.write(invitation.continuing) { $0.write($1.thread) { $0.write($1) } }
  }

  static func invitation(
    _ from: inout ByteReader, party: (UserID) throws -> Party, room: (DialogID) throws -> RoomName
  ) throws -> Invitation {
    Invitation(
      room: try room(DialogID(try from.int())), inviter: try party(UserID(try from.int())),
      reason: try from.optional(text), password: try from.optional(text), isBookmarked: try !from.flag(),
      // Data of the first version ends here.
      continuing: from.isAtEnd
        ? nil
        : try from.optional { from throws(StoreFailure) in Invitation.Continuation(thread: try from.optional(text)) })
  }
}
