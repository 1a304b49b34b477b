import Addresses
import Dialogs
import JSON

/// Renders group and public dialogs.
extension Rendering {
  /// Returns the part of a dialog that every member sees.
  func dialog(_ room: Room) -> DialogBody {
    let settings = room.settings
    return DialogBody(
      id: id(room.id), type: settings.wireType.rawValue, jid: room.address.description, memberCount: room.memberCount,
      name: settings.name, about: settings.about, topic: room.topic.flatMap { $0.text.isEmpty ? nil : $0.text },
      avatarHash: settings.avatarHash, metadata: settings.metadata.map { RawObject(trusted: $0) } ?? .empty,
      settings: RoomSetting.members(of: settings, isFederated: parley.hub.federation != nil),
      temporary: settings.isPersistent ? nil : true, externalId: room.externalID, createdAt: room.createdAt)
  }

  /// Returns the part of a room that a viewer may see; `nil` if that is nothing. Blocks: for `Parley.read`.
  func dialog(_ access: RoomAccess, for viewer: Party, _ reader: any StoreReader) throws -> DialogBody? {
    guard let readable = access.readable, let member = readable.member else {
      guard let room = access.room, let naming = access.naming(parley) else { return nil }
      var body = dialog(room)
      body.externalId = nil
      body.ownerId = try owner(access.owners, naming, reader)
      return body
    }
    let room = readable.room
    return try dialog(
      RoomView(
        room: room, member: member,
        mark: try reader.mark(viewer.id, in: room.id) ?? Mark(dialog: room.id, user: viewer.id),
        settings: try reader.settings(of: viewer.id, in: room.id) ?? DialogSettings(),
        lastMessage: try reader.last(of: readable.messages)),
      reader)
  }

  func dialog(_ view: RoomView, _ reader: any StoreReader) throws -> DialogBody {
    var body = dialog(view.room)
    let naming = ParticipantNaming(of: view.room, for: view.member, parley)
    body.externalId = view.room.externalID(for: view.member.party.id)
    body.ownerId = try owner(view.owners, naming, reader)
    body.updatedAt = view.lastMessage?.time ?? view.room.createdAt
    body.lastMessage = view.lastMessage.flatMap { message($0, naming) }
    body.me = DialogBody.Mine(
      role: view.member.affiliation.wire, nick: view.member.nick, kicked: view.member.isKicked ? true : nil,
      unreadCount: view.mark.unread(ordinal: view.room.ordinal),
      mentionCount: try reader.mentions(of: view.mark.user, in: view.room.id),
      readMessageId: id(view.mark.displayed), deliveredMessageId: id(view.mark.delivered),
      settings: settings(view.settings, view.mark),
      draft: try draft(of: view.member.party.id, in: view.room.id, reader))
    return body
  }

  private func owner(
    _ owners: MemberAccess?, _ naming: ParticipantNaming, _ reader: any StoreReader
  ) throws -> String? {
    try owners.flatMap { try reader.members(of: $0, after: nil, limit: 1).first }.map { naming.id($0.party) }
  }

  /// Returns a member. In a semi-anonymous room the nick replaces the display name, which would reveal the user.
  func member(_ member: Member, user: User?, _ naming: ParticipantNaming) -> MemberBody {
    MemberBody(
      userId: naming.id(member.party), jid: naming.jid(member.party), role: member.affiliation.wire,
      nick: member.nick, name: naming.knows(member.party) ? user?.profile.displayName : member.nick,
      joinedAt: member.affiliation.isMember ? member.joinedAt : nil,
      kicked: member.isKicked ? true : nil)
  }

  /// Returns the member in an event of a change.
  func member(_ change: MemberChange, _ naming: ParticipantNaming) -> MemberBody {
    MemberBody(
      userId: naming.id(change.party), jid: naming.jid(change.party), role: change.now.wire, nick: change.nick,
      name: naming.knows(change.party) ? nil : change.nick, kicked: change.isKicked ? true : nil)
  }

  /// Returns a notice of the server; `nil` if the dialog does not show it.
  func notice(_ entry: Entry, _ change: RoomChange, _ naming: ParticipantNaming) -> MessageBody? {
    guard change.sequence > 0 else { return nil }
    return MessageBody(
      id: entry.id.description, seq: change.sequence, dialogId: id(entry.dialog), senderId: naming.id(entry.author),
      clientId: nil, sentAt: entry.time,
      content: SystemContent.of(change.change, by: entry.author, naming), metadata: nil)
  }
}
