import Addresses
import AppProtocol
import Dialogs

/// Adds somebody to a group or public dialog, or changes what they are there. With
/// `me` and no role the caller joins a public dialog, comes back after a kick, or takes
/// another nick.
enum PutMember: ServedOperation {
  typealias Input = PutMemberInput
  typealias Output = MemberBody
  static let name = "member.put"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/members/{userId}"

  static func perform(_ input: PutMemberInput, _ call: Call) async throws(Problem) -> Outcome<MemberBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let address: BareJID
    let intent: RoomIntent
    do throws(Problem) {
      address = try await MemberReference.address(input.userId, in: room, by: caller, call)
      intent = try await Self.intent(input, about: address, room, by: caller, call)
    } catch {
      throw await call.parley.told(error, of: .room(room), to: caller)
    }
    try await call.parley.post(intent, in: room, by: caller)
    return .ok(try await body(address, in: room, caller, call))
  }

  private static func intent(
    _ input: PutMemberInput, about address: BareJID, _ room: RoomName, by caller: Party, _ call: Call
  ) async throws(Problem) -> RoomIntent {
    let nick = try Checks.line(input.nick, field: "nick")
    let reason = try Checks.line(input.reason, field: "reason")
    let affiliation = try input.role.map { (role) throws(Problem) in try Checks.role(role) }
    let before = try await call.parley.read { reader in
      try reader.user(address).flatMap { try reader.member($0.id, of: room.dialog) }?.affiliation ?? .none
    }
    if address == caller.address, affiliation == nil || (affiliation == .member && !before.isMember) {
      return .register(.dialog(room.dialog), nick: nick, bookmarks: true)
    }
    // Without a role nobody is moved down, and nobody's ban is lifted.
    if affiliation == nil, before == .outcast {
      throw Problem(
        .conflict, "member-banned", "This user is banned. Give a role, or DELETE the ban first.", field: "userId")
    }
    return .members(
      .dialog(room.dialog),
      [
        MemberDraft(
          address: address, affiliation: affiliation ?? (before.isMember ? nil : .member), nick: nick, reason: reason)
      ])
  }

  private static func body(
    _ address: BareJID, in room: RoomName, _ caller: Party, _ call: Call
  ) async throws(Problem) -> MemberBody {
    let rendering = call.rendering
    let body = try await call.parley.read { reader -> MemberBody? in
      guard let user = try reader.user(address), let member = try reader.member(user.id, of: room.dialog),
        member.affiliation != .none, let sight = try RoomSight.of(room.dialog, for: caller, reader)
      else { return nil }
      return rendering.member(member, user: user, sight.naming(rendering.parley))
    }
    guard let body else {
      throw Problem(.conflict, "member-removed", "They were removed again meanwhile.", field: "userId")
    }
    return body
  }
}

/// A user as a path of a dialog's members names them.
enum MemberReference {
  /// Who may change nobody else learns nothing of who there is.
  static func address(
    _ id: String, in room: RoomName, by caller: Party, _ call: Call
  ) async throws(Problem) -> BareJID {
    let own = Naming.prefix + call.parley.occupantID(of: caller.id, in: room)
    if id == "me" || id == own { return caller.address }
    let isOccupant = id.hasPrefix(Naming.prefix)
    let address = isOccupant ? nil : try Checks.address(id, domain: call.realm.domain)
    if let address, address == caller.address { return address }
    let found = try await call.parley.read { reader in
      let (_, member) = try RoomSight.asMember(of: room.dialog, caller, reader)
      if !member.affiliation.seesAddresses { throw Problem.notAdmin }
      return try address ?? find([id], in: room, call.parley, reader)[id]?.party.address
    }
    guard let found else { throw unknown }
    return found
  }

  /// Whom a text mentions, by user ids. They are named as the author knows them: to who may not know who the people are
  /// a user id other than their own names nobody, whether a member has it or not.
  static func named(
    _ mentions: [MentionBody], in room: RoomName, by author: Party, _ parley: Parley, _ reader: any StoreReader
  ) throws -> [MentionBody] {
    // Whom the core refuses in any case needs no answer here.
    guard mentions.count <= Limits.mentionsMax, let sight = try RoomSight.of(room.dialog, for: author, reader),
      let member = sight.member
    else { return mentions }
    let isOpen = sight.room.showsPeople(to: member.affiliation)
    let found = try find(Set(mentions.map(\.userId).filter { $0.hasPrefix(Naming.prefix) }), in: room, parley, reader)
    return try mentions.map { mention in
      if let member = found[mention.userId] {
        // The core lets who may not know them name people by their nicks there, as XMPP does.
        let isNamed = isOpen || member.party == author
        guard let name = isNamed ? member.party.name : member.nick.map({ "\(room.address)/\($0)" }) else {
          throw Problem.mentionUnknown
        }
        return MentionBody(userId: name, begin: mention.begin, end: mention.end)
      }
      if mention.userId.hasPrefix(Naming.prefix) { throw Problem.mentionUnknown }
      if isOpen { return mention }
      let address = try Checks.address(mention.userId, domain: author.address.domain, field: "mentions")
      if address != author.address { throw Problem.mentionUnknown }
      return mention
    }
  }

  /// Looks at everybody, since occupant ids do not tell whose they are: at most
  /// twice `Limits.membersMax`, on a reader's thread.
  private static func find(
    _ ids: Set<String>, in room: RoomName, _ parley: Parley, _ reader: any StoreReader
  ) throws -> [String: Member] {
    var found: [String: Member] = [:]
    var after: UserID?
    while found.count < ids.count {
      let page = try reader.members(
        of: room.dialog, among: Set(Affiliation.allCases).subtracting([.none]), after: after, limit: Limits.feedPageMax)
      for member in page {
        let id = Naming.prefix + parley.occupantID(of: member.party.id, in: room)
        if ids.contains(id) { found[id] = member }
      }
      guard page.count == Limits.feedPageMax else { break }
      after = page.last?.party.id
    }
    return found
  }

  static let unknown = Problem(.missing, "member-unknown", "This user is no member of the dialog.", field: "userId")
}
